"""The roofline bound, by hand-made numbers and by one real measurement."""

from kvteach.evaluate import roofline


def test_traffic_of_a_step_by_hand():
    # 10 weights of 2 bytes; 3 sequences of 5 tokens, 8 bytes a token; R = 4
    step = roofline.decode_step(10, 8, tokens=5, batch=3, group_size=4, itemsize=2)
    assert step.weight_bytes == 20
    assert step.cache_bytes == 120
    # weights: 3 * 2 * 10; attention: 60 cached numbers, 2 FLOP for each of 4 heads
    assert step.flop == 60 + 480
    assert step.intensity == 540 / 140


def test_attention_alone_has_intensity_two_r_over_b():
    step = roofline.decode_step(0, 1024, tokens=100, batch=7, group_size=6, itemsize=2)
    assert step.intensity == 6


def test_the_slower_side_decides():
    machine = roofline.Machine("toy", bandwidth=10.0, peak=100.0)
    assert machine.balance == 10
    assert roofline.least_seconds(roofline.Step(30, 20, 100), machine) == 5.0
    assert roofline.least_seconds(roofline.Step(30, 20, 800), machine) == 8.0


def test_a_measured_machine_is_plausible():
    machine = roofline.measure("cpu", seconds=0.1)
    # Any machine that can run torch moves 0.5 GB/s and computes 1 GFLOP/s;
    # none with this interface moves a petabyte or computes an exaflop a second.
    assert 5e8 < machine.bandwidth < 1e15
    assert 1e9 < machine.peak < 1e18
