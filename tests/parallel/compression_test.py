"""What workers send in place of float32. Here the workers are threads."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from persia_tf.parallel.compression import crossing, encodings, entries, formats, words
from persia_tf.parallel.compression.activations import activation_codec
from persia_tf.parallel.compression.encodings import Float16, Int8, Threshold
from persia_tf.parallel.compression.gradients import gradient_codec
from persia_tf.parallel.compression.rank_one import RankOne
from persia_tf.parallel.compression.sizes import gradient_bytes, payload_bytes

WAIT_SECONDS = 60

ALL = [
    Float16(),
    Int8(),
    Threshold(keep=0.05, every=7, values="float32", warmup=0),
    Threshold(keep=0.05, every=7, values="float16", warmup=0),
]
BY_THRESHOLD = ALL[2:]


def large(values="float32", **arguments):
    return Threshold(keep=0.1, values=values, warmup=0, **arguments)


def activations(encoding, pieces, count):
    """A codec whose pieces are one row each, so that no product is of rank one."""
    return activation_codec(encoding, pieces, count, count, "x")


class Wire:
    """Passes tensors between threads in step, and counts the bytes received by each."""

    def __init__(self, size):
        self.size = size
        self.bytes = 0
        self._barrier = threading.Barrier(size)
        self._sent = [None] * size

    def swap(self, rank, value):
        self._barrier.wait(WAIT_SECONDS)
        self._sent[rank] = value
        self._barrier.wait(WAIT_SECONDS)
        return list(self._sent)


class FakeMembers:
    def __init__(self, wire, rank):
        self.size = wire.size
        self._wire = wire
        self.rank = rank

    def sum(self, value, name):
        self._count(value, 2 * (self.size - 1) / self.size)
        return tf.add_n(self._wire.swap(self.rank, value))

    def either(self, condition, if_true, if_false):
        return tf.cond(condition, if_true, if_false)

    def gather(self, value, name):
        self._count(value, self.size - 1)
        return tf.concat(self._wire.swap(self.rank, value), axis=0)

    def exchange(self, value, name):
        assert value.shape[0] == self.size
        self._count(value[0], self.size - 1)
        return tf.stack([each[self.rank] for each in self._wire.swap(self.rank, value)])

    def _count(self, value, times):
        if self.rank == 0:
            self._wire.bytes += times * value.shape.num_elements() * value.dtype.size


def run(size, member):
    """Returns what `member(members, rank)` returns in each of the threads."""
    wire = Wire(size)
    with ThreadPoolExecutor(size) as pool:
        futures = [
            pool.submit(member, FakeMembers(wire, rank), rank) for rank in range(size)
        ]
        return [each.result() for each in futures], wire.bytes


def alone():
    return FakeMembers(Wire(1), 0)


def normal(*shape, seed=0, scale=1.0):
    values = np.random.default_rng(seed).standard_normal(shape) * scale
    return values.astype(np.float32)


def through(codec, x):
    return codec.decode(codec.encode(tf.constant(x))[0])[0].numpy()


def thresholded(x, keep):
    """The exact result for each row: its largest numbers, and zeros."""
    kept = round(x.shape[1] * keep)
    tau = np.sort(np.abs(x), axis=1)[:, -kept]
    return np.where(np.abs(x) >= tau[:, None], x, 0)


@pytest.mark.parametrize("encoding", [None, *ALL])
def test_json_keeps_an_encoding(encoding):
    text = json.dumps(encodings.serialize(encoding))
    assert encodings.deserialize(json.loads(text)) == encoding


def test_equal_encodings_have_equal_hashes():
    assert len({Threshold(0.01), Threshold(keep=np.float64(0.01)), Float16()}) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"keep": 0}, ValueError, "`keep` must be a number from 1e-06 to 0.5.*keep=0"),
        ({"keep": 0.6}, ValueError, "`keep` must .*Received: keep=0.6"),
        ({"keep": "1%"}, TypeError, "`keep` must .*Received: keep='1%'"),
        ({"every": 0}, ValueError, "`every` must be an integer from 1 .*every=0"),
        ({"every": 1.5}, TypeError, "`every` must .*Received: every=1.5"),
        ({"warmup": -1}, ValueError, "`warmup` must be an integer from 0 .*warmup=-1"),
        ({"values": "int8"}, ValueError, "`values` must be one of .*values='int8'"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, text):
    with pytest.raises(error, match=text):
        Threshold(**arguments)


def test_what_is_no_encoding_is_refused():
    assert encodings.get("activations", Int8()) == Int8()
    with pytest.raises(TypeError, match="`activations` must be None or .*'int8'"):
        encodings.get("activations", "int8")
    with pytest.raises(ValueError, match="`class_name` must be one of"):
        encodings.deserialize({"class_name": "Encoding"})


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint16, tf.float16, tf.float32])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 257])
def test_words_keep_numbers(dtype, count):
    x = tf.cast(tf.reshape(tf.range(2 * count) % 100, [2, count]), dtype)
    packed = words.pack(x)
    assert packed.shape == (2, words.words_for(count, dtype))
    assert (words.unpack(packed, count, dtype).numpy() == x.numpy()).all()


@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-30, 1e-7, 1.0, 1e5, 1e37])
@pytest.mark.parametrize("count", [1, 255, 256, 1000])
def test_rounding_is_small_at_any_scale(count, scale):
    x = normal(3, count, scale=scale)
    largest = np.abs(x).max(axis=1, keepdims=True)
    for encoding, most in ((Float16(), 2**-11), (Int8(), 0.5 / 127)):
        difference = through(activations(encoding, 3, count), x) - x
        assert (np.abs(difference) <= largest * most * 1.01 + formats.TINY).all()


def test_float16_keeps_small_numbers_beside_large_ones():
    x = np.array([[1e6, 1.0, -0.01]], np.float32)
    received = through(activations(Float16(), 1, 3), x)
    np.testing.assert_allclose(received, x, rtol=2**-11)


def test_zeros_stay_zeros():
    for encoding in ALL:
        codec = activations(encoding, 2, 300)
        for _ in range(3):
            assert (through(codec, np.zeros((2, 300), np.float32)) == 0).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 300, 511, 999])
@pytest.mark.parametrize("encoding", ALL)
def test_what_is_not_finite_arrives_and_harms_no_other_row(encoding, place, value):
    x = normal(3, 1000)
    x[1, place] = value
    codec = activations(encoding, 3, 1000)
    for _ in range(2):
        received = through(codec, x)
        assert not np.isfinite(received[1, place])
        assert np.isfinite(received[::2]).all()


@pytest.mark.parametrize("count", [20, 1000, 70_000])
def test_the_largest_numbers_arrive_in_their_places(count):
    x = normal(2, count) * [[1.0], [100.0]]
    x = x.astype(np.float32)
    received = through(activations(large(), 2, count), x)
    assert (received == thresholded(x, 0.1)).all()
    codec = activations(large(values="float16"), 2, count)
    np.testing.assert_allclose(through(codec, x), received, rtol=2**-11)


@pytest.mark.parametrize("count", [1, 7, 1000, 200_000])
@pytest.mark.parametrize("encoding", ALL)
def test_payloads_have_the_size_that_is_told(encoding, count):
    codec = activations(encoding, 2, count)
    payload, _ = codec.encode(tf.constant(normal(2, count)))
    assert 2 * payload_bytes(encoding, count) == payload.numpy().nbytes


@pytest.mark.parametrize(
    ("encoding", "least", "least_with_gradient"),
    [
        (Float16(), 1.99, 1.99),
        (Int8(), 3.9, 3.9),
        (Threshold(values="float32"), 26, 26),
        (Threshold(), 39, 46),
        (Threshold(keep=0.01), 79, 89),
    ],
)
def test_bytes_are_fewer(encoding, least, least_with_gradient):
    shape = (256, 1024)
    count = shape[0] * shape[1]
    codec = activation_codec(encoding, 1, count, shape[1], "x")
    payload, _ = codec.encode(tf.constant(normal(1, count)))
    _, received = codec.decode(payload)
    back = codec.encode_gradient(tf.constant(normal(1, count)), received)
    forward, backward = payload.numpy().nbytes, back.numpy().nbytes
    assert 4 * count / forward > least
    assert 8 * count / (forward + backward) > least_with_gradient


def test_the_threshold_is_kept_until_it_is_time():
    codec = activations(large(every=3), 1, 1000)
    taus = []
    for step in range(7):
        through(codec, normal(1, 1000, seed=step))
        taus.append(codec.state["tau"].numpy()[0])
    assert taus[0] == taus[1] == taus[2] != taus[3] == taus[4] == taus[5] != taus[6]
    assert codec.state["calls"].numpy() == 7


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_the_threshold_follows_numbers_that_grow_or_shrink(factor):
    codec = activations(large(), 1, 1000)
    x = normal(1, 1000)
    through(codec, x)
    assert (through(codec, x * factor) == thresholded(x * factor, 0.1)).all()


def test_of_equal_numbers_the_first_ones_that_have_room_arrive():
    encoding = large()
    codec = activations(encoding, 2, 1000)
    x = np.stack([np.ones(1000, np.float32), normal(1000)])
    for _ in range(2):
        received = through(codec, x)
        room = entries.of(encoding, 1000).room
        assert (received[0] == (np.arange(1000) < room)).all()
        assert (received[1:] == thresholded(x[1:], 0.1)).all()


def test_if_few_numbers_are_not_zero_they_arrive():
    codec = activations(large(), 1, 1000)
    x = np.zeros((1, 1000), np.float32)
    x[0, [5, 999]] = [1e-6, -3]
    for _ in range(2):
        assert (through(codec, x) == x).all()


@pytest.mark.parametrize("encoding", ALL)
def test_a_function_is_traced_once_and_computes_the_same(encoding):
    traces = []
    codecs = [gradient_codec(encoding, 1000, 1, "x") for _ in range(2)]

    @tf.function
    def in_graph(gradient):
        traces.append(1)
        return codecs[0].sum(gradient, alone(), "x")

    for step in range(10):
        gradient = tf.constant(normal(1000, seed=step))
        eager = codecs[1].sum(gradient, alone(), "x")
        np.testing.assert_allclose(in_graph(gradient), eager, rtol=1e-6)
    assert len(traces) == 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("encoding", ALL)
def test_gradients_cross_in_a_function(encoding, dtype):
    """In a function, variables under a custom gradient need care."""
    codec = activations(encoding, 1, 400)

    @tf.function
    def gradient_of_square(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = crossing.gathered(codec, alone(), x, "x")
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    y, gradient = gradient_of_square(tf.cast(normal(1, 400), dtype))
    assert y.dtype == gradient.dtype == dtype
    close = 0.02 if isinstance(encoding, Int8) else 1e-2 if dtype != "float32" else 1e-3
    y, gradient = np.float32(y), np.float32(gradient)
    np.testing.assert_allclose(gradient, 2 * y, rtol=close, atol=close)
    if encoding in BY_THRESHOLD:
        assert ((gradient != 0) == (y != 0)).all()


def test_each_member_gathers_what_all_sent_and_gets_all_gradients_back():
    x = normal(3, 1, 1000)
    factors = normal(3, 3, 1000, seed=1)

    def member(members, rank):
        codec = activations(large(), 1, 1000)
        own = tf.constant(x[rank])
        with tf.GradientTape() as tape:
            tape.watch(own)
            y = crossing.gathered(codec, members, own, "x")
            loss = tf.reduce_sum(y * factors[rank])
        return y.numpy(), tape.gradient(loss, own).numpy()

    kept = thresholded(x[:, 0], 0.1)
    for rank, (y, gradient) in enumerate(run(3, member)[0]):
        received = kept.copy()
        received[rank] = x[rank]  # Its own piece is exact.
        assert (y == received).all()
        of_others = factors[:, rank].sum(axis=0) - factors[rank, rank]
        expected = np.where(kept[rank] != 0, of_others, 0) + factors[rank, rank]
        np.testing.assert_allclose(gradient[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fill", [False, True])
def test_each_member_exchanges_pieces_and_their_gradients(fill):
    x = normal(3, 3, 1000)
    x[:, :, ::2] = 0
    factors = normal(3, 3, 1000, seed=1)

    def member(members, rank):
        codec = activations(large(), 3, 1000)
        own = tf.constant(x[rank])
        with tf.GradientTape() as tape:
            tape.watch(own)
            y = crossing.exchanged(codec, members, own, "x", fill=fill)
            loss = tf.reduce_sum(y * factors[rank])
        return y.numpy(), tape.gradient(loss, own).numpy()

    kept = np.stack([thresholded(each, 0.1) for each in x])
    for rank, (y, gradient) in enumerate(run(3, member)[0]):
        received = kept[:, rank].copy()
        # Its own piece is exact. Of 500 numbers that are not zero, 100 arrive from each
        # of the other two members.
        scale = np.float32(np.sqrt(1 + 2 * (1 - 100 / 500)) if fill else 1)
        received[rank] = x[rank, rank] * scale
        np.testing.assert_allclose(y, received, rtol=1e-6)
        expected = np.where(kept[rank] != 0, factors[:, rank], 0)
        expected[rank] = factors[rank, rank] * scale
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.parametrize("encoding", [Float16(), Int8(), Threshold(keep=0.5, warmup=0)])
def test_nothing_is_scaled_up_if_all_numbers_arrive(encoding):
    x = normal(2, 2, 1000)
    x[:, :, ::2] = 0

    def member(members, rank):
        codec = activations(encoding, 2, 1000)
        own = tf.constant(x[rank])
        return crossing.exchanged(codec, members, own, "x", fill=True).numpy()

    for rank, y in enumerate(run(2, member)[0]):
        assert (y[rank] == x[rank, rank]).all()


def in_function(codec):
    """The sum of one worker, as a function of its gradient."""
    return tf.function(lambda gradient: codec.sum(gradient, alone(), "x"))


def held_back(codec):
    """What a gradient codec has not sent yet, for its places and for its slice."""
    state = {name: each.numpy() for name, each in codec.state.items()}
    return state["error"].reshape(-1), state.get("sum_error")


@pytest.mark.parametrize(
    ("count", "dtype"), [(1, "float32"), (1000, "float32"), (1000, "float16")]
)
@pytest.mark.parametrize("encoding", ALL)
def test_nothing_is_lost_and_all_workers_have_the_same_bits(encoding, count, dtype):
    steps = 15
    gradients = normal(3, steps, count).astype(dtype)

    def worker(members, rank):
        codec = gradient_codec(encoding, count, 3, "x")
        sums = [codec.sum(tf.constant(each), members, "x") for each in gradients[rank]]
        return np.stack(sums), *held_back(codec)

    results, received = run(3, worker)
    sums = results[0][0]
    assert sums.dtype == dtype
    assert all(each[0].tobytes() == sums.tobytes() for each in results)
    left = sum(each[1][:count] for each in results).astype(np.float64)
    if results[0][2] is not None:
        left += np.concatenate([each[2][0] for each in results])[:count]
    expected = gradients.astype(np.float64).sum(axis=(0, 1))
    close = 1e-4 if dtype == "float32" else 0.05
    total = sums.astype(np.float64).sum(axis=0) + left
    np.testing.assert_allclose(total, expected, atol=close)
    assert received == steps * gradient_bytes(encoding, count, 3)


@pytest.mark.parametrize("encoding", BY_THRESHOLD)
def test_a_payload_is_full_but_no_worker_holds_back_for_ever(encoding):
    summed_alone = in_function(gradient_codec(encoding, 1000, 1, "x"))
    last = np.zeros(1000, int)
    for step in range(200):
        summed = summed_alone(normal(1000, seed=step)).numpy()
        last[summed != 0] = step
        assert 0.02 * 1000 <= (summed != 0).sum() <= 0.0625 * 1000 + 2
    assert last.min() > 50


@pytest.mark.parametrize("encoding", ALL)
def test_a_gradient_that_is_not_finite_is_seen_and_forgotten(encoding):
    codec = gradient_codec(encoding, 1000, 1, "x")
    for step in range(3):
        codec.sum(tf.constant(normal(1000, seed=step)), alone(), "x")
    before = held_back(codec)[0]
    bad = normal(1000)
    bad[3], bad[700] = np.nan, np.inf
    summed = codec.sum(tf.constant(bad), alone(), "x").numpy()
    assert not np.isfinite(summed[[3, 700]]).any()
    left = held_back(codec)[0]
    assert np.isfinite(left).all()
    assert (left[[3, 700]] == before[[3, 700]]).all()
    for step in range(3):
        summed = codec.sum(tf.constant(normal(1000, seed=step)), alone(), "x")
        assert np.isfinite(summed).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("encoding", ALL)
def test_gradients_none_of_which_are_finite_are_seen_and_forgotten(encoding, value):
    codec = gradient_codec(encoding, 1000, 1, "x")
    codec.sum(tf.constant(normal(1000)), alone(), "x")
    before = held_back(codec)[0]
    summed = codec.sum(tf.fill([1000], np.float32(value)), alone(), "x")
    assert not np.isfinite(summed).all()
    assert (held_back(codec)[0] == before).all()
    summed = codec.sum(tf.constant(normal(1000)), alone(), "x").numpy()
    assert np.isfinite(summed).all() and summed.any()


@pytest.mark.parametrize("encoding", ALL)
def test_a_codec_with_the_state_of_another_goes_on_like_it(encoding):
    first, second = (gradient_codec(encoding, 300, 1, "x") for _ in range(2))
    for step in range(10):
        first.sum(tf.constant(normal(300, seed=step)), alone(), "x")
    for name, each in second.state.items():
        each.assign(first.state[name])
    for step in range(10, 20):
        gradient = tf.constant(normal(300, seed=step))
        sums = [each.sum(gradient, alone(), "x").numpy() for each in (first, second)]
        assert (sums[0] == sums[1]).all()


def trained_loss(encoding, steps=400, features=200):
    """The loss of a logistic regression after training it with SGD."""
    x = normal(512, features)
    scores = x @ normal(features, seed=1) + normal(512, seed=2)
    labels = (scores > 0).astype(np.float32)
    weights = tf.Variable(tf.zeros([features]))
    codec = encoding and gradient_codec(encoding, features, 1, "x")

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            logits = tf.linalg.matvec(x, weights)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses) + 0.01 * tf.reduce_sum(weights**2)
        gradient = tape.gradient(loss, weights)
        if encoding is not None:
            gradient = codec.sum(gradient, alone(), "x")
        weights.assign_sub(0.2 * gradient)
        return loss

    return [step().numpy() for _ in range(steps)][-1]


def test_training_converges_to_nearly_the_same_loss():
    plain = trained_loss(None)
    for encoding in ALL:
        assert trained_loss(encoding) == pytest.approx(plain, rel=0.002)


def test_a_matrix_of_rank_one_arrives():
    column, row = normal(2, 40, 1), normal(2, 1, 30, seed=1)
    x = (column * row).reshape(2, -1)
    x[1] *= 1e-20
    for numbers, close in ((formats.FLOAT32, 1e-5), (formats.FLOAT16, 2e-3)):
        codec = RankOne(numbers, 40, 30)
        payload = codec.encode(tf.constant(x))
        assert payload.shape == (2, codec.words)
        received = codec.decode(payload).numpy()
        for each, expected in zip(received, x):
            np.testing.assert_allclose(each, expected, atol=close * expected.max())


def test_the_product_is_as_close_as_the_greatest_singular_value_allows():
    x = normal(40, 30) + 3 * normal(40, 1, seed=1) * normal(1, 30, seed=2)
    codec = RankOne(formats.FLOAT32, 40, 30)
    received = codec.decode(codec.encode(tf.constant(x.reshape(1, -1)))).numpy()
    values = np.linalg.svd(x, compute_uv=False)
    distance = np.linalg.norm(x - received.reshape(40, 30))
    assert distance < 1.001 * np.sqrt((values[1:] ** 2).sum())


def test_of_zeros_a_product_is_zeros_and_what_is_not_finite_harms_no_other_matrix():
    x = np.zeros((3, 1200), np.float32)
    x[1, 7] = np.inf
    codec = RankOne(formats.FLOAT16, 40, 30)
    received = codec.decode(codec.encode(tf.constant(x))).numpy()
    assert (received[::2] == 0).all()
    assert not np.isfinite(received[1]).all()


@pytest.mark.parametrize("values", ["float32", "float16"])
def test_gradients_come_back_at_the_places_and_of_the_others_the_main_part(values):
    encoding = large(values=values)
    codec = activation_codec(encoding, 2, 6400, 64, "x")
    x = normal(2, 6400)
    payload, sent = codec.encode(tf.constant(x))
    y, received = codec.decode(payload)
    is_sent = y.numpy() != 0
    # Of rank one besides what is sent.
    gradient = (normal(2, 100, 1, seed=1) * normal(2, 1, 64, seed=2)).reshape(2, -1)
    gradient[is_sent] += 5
    back = codec.encode_gradient(tf.constant(gradient), received)
    returned = codec.decode_gradient(back, sent).numpy()
    np.testing.assert_allclose(returned[is_sent], gradient[is_sent], rtol=1e-3)
    others = np.linalg.norm((returned - gradient)[~is_sent])
    assert others < 0.35 * np.linalg.norm(gradient[~is_sent])


def test_of_few_features_the_others_are_zeros():
    codec = activation_codec(large(), 1, 1000, 2, "x")
    payload, sent = codec.encode(tf.constant(normal(1, 1000)))
    y, received = codec.decode(payload)
    back = codec.encode_gradient(tf.ones([1, 1000]), received)
    returned = codec.decode_gradient(back, sent).numpy()
    assert ((returned != 0) == (y.numpy() != 0)).all()


def test_the_first_exchanges_are_exact():
    x = normal(2, 5, 1, 1000)
    factors = normal(2, 2, 1000, seed=1)

    def member(members, rank):
        codec = activations(Threshold(keep=0.1, warmup=2), 1, 1000)
        results = []
        for each in x[rank]:
            own = tf.constant(each)
            with tf.GradientTape() as tape:
                tape.watch(own)
                y = crossing.gathered(codec, members, own, "x")
                loss = tf.reduce_sum(y * factors[rank])
            results.append((y.numpy(), tape.gradient(loss, own).numpy()))
        return results

    for rank, steps in enumerate(run(2, member)[0]):
        for step, (y, gradient) in enumerate(steps):
            exact = (y == x[:, step, 0]).all()
            assert exact == (step < 2)
            everywhere = (gradient[0] == factors[:, rank].sum(axis=0)).all()
            assert everywhere == (step < 2)


def test_the_first_sums_of_gradients_are_exact():
    gradients = normal(2, 4, 1000)

    def worker(members, rank):
        codec = gradient_codec(Threshold(keep=0.1, warmup=2), 1000, 2, "x")
        each = [codec.sum(tf.constant(x), members, "x") for x in gradients[rank]]
        return np.stack(each), codec.state["warm_up"].numpy()

    for sums, calls in run(2, worker)[0]:
        assert calls == 4
        exact = (sums == gradients.sum(axis=0)).all(axis=1)
        assert exact.tolist() == [True, True, False, False]
