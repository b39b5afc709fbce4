"""The order of the tests of faults, in which no process of pytest-xdist works alone at the end."""

from collections.abc import Sequence

# The tests that take longest, in this order; the rest takes a few seconds each.
LONGEST = (
    "test_rolling_restart_loses_no_request",
    "test_requests_time_out_while_the_server_is_silent",
    "test_unavailable_instance_is_taken_out_and_put_back",
    "test_request_and_idle_connection_end_after_their_timeouts",
    "test_an_interrupted_move_changes_nothing_and_can_be_repeated",
    "test_malformed_requests_leave_nothing_behind",
    "test_killed_service_starts_again_without_losing_acknowledged_pets",
    "test_a_service_under_load_moves_and_loses_nothing",
    "test_requests_succeed_after_the_server_restarts_between_them",
    "test_requests_fail_immediately_while_the_server_is_stopped",
    "test_killed_worker_loses_no_acknowledged_pet",
    "test_running_instances_still_respond_while_none_is_ready",
)


def in_order(names: Sequence[str], processes: int) -> list[int]:
    """Return the places of the tests in the order in which they should run.

    Each process gets an equal part of the list, from the beginning to the end. So each part begins with long tests.
    """
    places = range(len(names))
    longest = sorted((place for place in places if names[place] in LONGEST), key=lambda at: LONGEST.index(names[at]))
    rest = [place for place in places if names[place] not in LONGEST]
    order: list[int] = []
    for process in range(processes):
        size = (len(names) - len(order)) // (processes - process)
        part = longest[process::processes]
        order += part
        order += [rest.pop(0) for _ in range(min(size - len(part), len(rest)))]
    return order + rest
