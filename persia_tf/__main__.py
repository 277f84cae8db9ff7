"""`python -m persia_tf`: the command `persia`, for when it is not on the PATH."""

from persia_tf.commands.main import main

if __name__ == "__main__":
    main()
