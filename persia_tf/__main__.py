"""`python -m persia_tf`: the command `persia`, where that is not on the path."""

from persia_tf.commands.main import main

if __name__ == "__main__":
    main()
