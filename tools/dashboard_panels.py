"""The panels of the dashboard in deploy/grafana, and their queries.

`grafana_dashboard.py` writes them as Grafana's JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# Series of the targets that the reader selected, for each kind of process.
_OF = {
    job: f'cluster=~"$cluster",job="persia-{job}",instance=~"$instance"'
    for job in ("ps", "replica", "worker", "trainer", "serve")
}
_SERVERS = 'cluster=~"$cluster",job=~"persia-(ps|replica|worker)",instance=~"$instance"'
_ALL = 'cluster=~"$cluster",job=~"persia-.*",instance=~"$instance"'
CLUSTER = 'cluster=~"$cluster"'


class Panel(NamedTuple):
    """A panel with one or more queries.

    Attributes:
        title: The panel's title.
        unit: Grafana's name of the values' unit.
        queries: PromQL by legend, in which `{{label}}` is a label's value.
        text: What the panel shows, if its title does not say all.
        kind: "timeseries", or "stat" for the newest value alone.
    """

    title: str
    unit: str
    queries: Mapping[str, str]
    text: str = ""
    kind: str = "timeseries"


def _rate(name: str, of: str) -> str:
    return f"rate({name}{{{of}}}[$__rate_interval])"


def _quantile(quantile: float, name: str, of: str, by: str) -> str:
    rates = _rate(f"{name}_bucket", of)
    return f"histogram_quantile({quantile}, sum by (le, {by}) ({rates}))"


def _stat(title: str, unit: str, query: str) -> Panel:
    return Panel(title, unit, {"": query}, kind="stat")


_PS, _WORKER, _TRAINER, _SERVE = (
    _OF[job] for job in ("ps", "worker", "trainer", "serve")
)

ROWS = {
    "Overview": (
        _stat("Shards ready", "none", f"sum(persia_server_ready{{{_PS}}})"),
        _stat("Rows", "short", f"sum(persia_table_rows{{{_PS}}})"),
        _stat("Memory of tables", "bytes", f"sum(persia_store_memory_bytes{{{_PS}}})"),
        _stat(
            "Alerts",
            "none",
            f'count(ALERTS{{alertstate="firing",{CLUSTER}}}) or vector(0)',
        ),
        Panel(
            "Targets up",
            "none",
            {"{{job}}": f"sum by (job) (up{{{_ALL}}})"},
        ),
        Panel(
            "Processors",
            "percentunit",
            {"{{job}} {{instance}}": _rate("process_cpu_seconds_total", _ALL)},
            "100% is one processor.",
        ),
        Panel(
            "Connections",
            "none",
            {"{{instance}}": f"persia_server_connections{{{_SERVERS}}}"},
        ),
    ),
    "Traffic and latency": (
        Panel(
            "Requests",
            "reqps",
            {
                "{{job}} {{request}}": "sum by (job, request) "
                f"({_rate('persia_server_request_seconds_count', _SERVERS)})"
            },
        ),
        Panel(
            "Lookups: time",
            "s",
            {
                f"{{{{instance}}}} p{quantile * 100:g}": _quantile(
                    quantile,
                    "persia_server_request_seconds",
                    f'{_SERVERS},request="lookup"',
                    "instance",
                )
                for quantile in (0.5, 0.99)
            },
            "From a request's arrival until its reply is ready.",
        ),
        Panel(
            "Updates: time",
            "s",
            {
                f"{{{{instance}}}} p{quantile * 100:g}": _quantile(
                    quantile,
                    "persia_server_request_seconds",
                    f'{_SERVERS},request="update"',
                    "instance",
                )
                for quantile in (0.5, 0.99)
            },
            "From a request's arrival until its reply is ready.",
        ),
        Panel(
            "Network",
            "Bps",
            {
                "{{instance}} in": _rate(
                    "persia_server_received_bytes_total", _SERVERS
                ),
                "{{instance}} out": _rate("persia_server_sent_bytes_total", _SERVERS),
            },
        ),
        Panel(
            "Failed requests",
            "reqps",
            {
                "{{instance}} {{request}}": "sum by (instance, request) "
                f"({_rate('persia_server_request_failures_total', _SERVERS)})"
            },
        ),
        Panel(
            "Refused connections",
            "cps",
            {
                "{{instance}} refused": _rate(
                    "persia_server_refused_connections_total", _SERVERS
                ),
                "{{instance}} malformed": _rate(
                    "persia_server_bad_frames_total", _SERVERS
                ),
            },
        ),
    ),
    "Tables": (
        Panel(
            "Rows",
            "short",
            {
                "{{table}}": f"sum by (table) (persia_table_rows{{{_PS}}})",
            },
        ),
        Panel(
            "Memory",
            "bytes",
            {"{{table}}": f"sum by (table) (persia_table_bytes{{{_PS}}})"},
        ),
        Panel(
            "Hit rate of lookups",
            "percentunit",
            {
                "{{table}}": "cluster_table:persia_lookup_hits:ratio_rate5m"
                f"{{{CLUSTER}}}"
            },
            "The share of ids that had a row. New ids and evicted ids have none.",
        ),
        Panel(
            "Rows looked up",
            "rowsps",
            {
                "{{table}}": "sum by (table) "
                f"({_rate('persia_table_looked_up_rows_total', _PS)})"
            },
        ),
        Panel(
            "Rows updated",
            "rowsps",
            {
                "{{table}}": "sum by (table) "
                f"({_rate('persia_table_updated_rows_total', _PS)})"
            },
        ),
        Panel(
            "Rows evicted",
            "rowsps",
            {
                "{{table}}": "sum by (table) "
                f"({_rate('persia_table_evicted_rows_total', _PS)})"
            },
        ),
        Panel(
            "Ids refused, gradients skipped",
            "rowsps",
            {
                "{{table}} refused": "sum by (table) "
                f"({_rate('persia_table_refused_ids_total', _PS)})",
                "{{table}} not finite": "sum by (table) "
                f"({_rate('persia_table_nonfinite_gradients_total', _PS)})",
                "{{table}} no row": "sum by (table) "
                f"({_rate('persia_table_absent_gradients_total', _PS)})",
            },
        ),
        Panel(
            "Balance of shards",
            "none",
            {
                "rows": f"cluster:persia_shard_rows:max_over_mean{{{CLUSTER}}}",
                "lookups": "cluster:persia_shard_lookups:max_over_mean_rate5m"
                f"{{{CLUSTER}}}",
            },
            "The shard with the most, over the mean. 1 is perfect balance.",
        ),
        Panel(
            "Copies of hot rows: hit rate",
            "percentunit",
            {
                "{{instance}}": "sum by (instance) "
                f"({_rate('persia_copy_found_rows_total', _WORKER)}) / (sum by "
                f"(instance) ({_rate('persia_copy_looked_up_rows_total', _WORKER)})"
                " > 0)"
            },
            "Of embedding workers with --cache-rows.",
        ),
    ),
    "Memory": (
        Panel(
            "Tables, of --memory-limit",
            "percentunit",
            {"{{instance}}": f"instance:persia_store_memory:ratio{{{_PS}}}"},
        ),
        Panel(
            "Process, of its limit",
            "percentunit",
            {"{{instance}}": f"instance:persia_process_memory:ratio{{{_SERVERS}}}"},
        ),
        Panel(
            "Resident memory",
            "bytes",
            {"{{job}} {{instance}}": f"process_resident_memory_bytes{{{_ALL}}}"},
        ),
    ),
    "Trainers": (
        Panel(
            "Updates",
            "ops",
            {"{{instance}}": _rate("persia_trainer_updates_total", _TRAINER)},
            "Acknowledged by shards: one per step of a prefetched model.",
        ),
        Panel(
            "Staleness",
            "none",
            {
                "{{instance}} mean": "instance:persia_trainer_staleness_steps:"
                f"mean_rate5m{{{_TRAINER}}}",
                "{{instance}} p99": _quantile(
                    0.99, "persia_trainer_staleness_steps", _TRAINER, "instance"
                ),
            },
            "How many steps were missing from the rows of training batches.",
        ),
        Panel(
            "Waiting for rows",
            "percentunit",
            {
                "{{instance}}": "instance:persia_trainer_lookup_wait:ratio_rate5m"
                f"{{{_TRAINER}}}"
            },
            "The share of time.",
        ),
        Panel(
            "Lookups",
            "ops",
            {
                "{{instance}} training": _rate(
                    "persia_trainer_training_lookups_total", _TRAINER
                ),
                "{{instance}} prefetched": _rate(
                    "persia_trainer_prefetch_hits_total", _TRAINER
                ),
            },
        ),
        Panel(
            "Updates under way",
            "none",
            {
                "{{instance}} updates": f"persia_trainer_pending_updates{{{_TRAINER}}}",
                "{{instance}} batches": "persia_trainer_prefetched_batches"
                f"{{{_TRAINER}}}",
            },
            "Updates that are not acknowledged, and batches whose step is to come.",
        ),
        Panel(
            "Network",
            "Bps",
            {
                "{{instance}} in": _rate(
                    "persia_trainer_received_bytes_total", _TRAINER
                ),
                "{{instance}} out": _rate("persia_trainer_sent_bytes_total", _TRAINER),
            },
        ),
        Panel(
            "Staleness, as shards see it",
            "none",
            {
                "{{program}}": (
                    f"max by (program) (persia_client_staleness_steps{{{_PS}}})"
                )
            },
            "Also of programs whose own metrics are not scraped.",
        ),
        Panel(
            "Time since the last update",
            "s",
            {"{{program}}": f"min by (program) (persia_client_idle_seconds{{{_PS}}})"},
            "Of each program that shards know; after 10 minutes it is left out.",
        ),
    ),
    "Retries": (
        Panel(
            "Requests sent again, new connections",
            "ops",
            {"{{job}} {{instance}}": f"instance:persia_retries:rate5m{{{_ALL}}}"},
        ),
        Panel(
            "Updates that shards had already",
            "ops",
            {
                "{{instance}}": _rate("persia_server_repeated_updates_total", _PS),
            },
            "They are recognised and skipped.",
        ),
        Panel(
            "Updates lost",
            "none",
            {"{{instance}}": f"persia_server_lost_updates_total{{{_PS}}}"},
            "At most so many, when a shard recovered from a checkpoint.",
        ),
    ),
    "Log and checkpoints": (
        Panel(
            "Records logged",
            "ops",
            {"{{instance}}": _rate("persia_log_records_total", _PS)},
        ),
        Panel(
            "Records not durable yet",
            "none",
            {"{{instance}}": f"persia_log_pending_records{{{_PS}}}"},
        ),
        Panel(
            "Size of the log",
            "bytes",
            {
                "{{instance}} log": f"persia_log_bytes{{{_PS}}}",
                "{{instance}} base": f"persia_log_base_bytes{{{_PS}}}",
            },
            "The log since its base, and the base.",
        ),
        Panel(
            "Free space",
            "percentunit",
            {
                "{{instance}} {{folder}}": "instance:persia_volume_free:ratio"
                f"{{{_PS}}}",
            },
        ),
        Panel(
            "Age of the last checkpoint",
            "s",
            {"{{instance}}": f"instance:persia_checkpoint_age:seconds{{{_PS}}}"},
        ),
        Panel(
            "Checkpoints",
            "none",
            {
                "{{instance}} saved": f"persia_checkpoint_saves_total{{{_PS}}}",
                "{{instance}} restored": f"persia_checkpoint_restores_total{{{_PS}}}",
                "{{instance}} failed": f"persia_checkpoint_failures_total{{{_PS}}}",
            },
            "Since the process started.",
        ),
        Panel(
            "Running checkpoint: rows",
            "short",
            {
                "{{instance}} done": f"persia_checkpoint_rows{{{_PS}}}",
                "{{instance}} in all": f"persia_checkpoint_total_rows{{{_PS}}}",
            },
        ),
        Panel(
            "Replicas: time behind",
            "s",
            {"{{instance}}": f"persia_replica_behind_seconds{{{_OF['replica']}}}"},
        ),
    ),
    "Model servers": (
        Panel(
            "Predictions by code",
            "reqps",
            {
                "{{api}} {{code}}": "sum by (api, code) "
                f"({_rate('persia_serve_requests_total', _SERVE)})"
            },
        ),
        Panel(
            "Predictions: time",
            "s",
            {
                f"{{{{instance}}}} p{quantile * 100:g}": _quantile(
                    quantile, "persia_serve_request_seconds", _SERVE, "instance"
                )
                for quantile in (0.5, 0.99)
            },
        ),
        Panel(
            "Predictions under way",
            "none",
            {
                "{{instance}} run or wait": "persia_serve_requests_under_way"
                f"{{{_SERVE}}}",
                "{{instance}} arrive": f"persia_serve_requests_arriving{{{_SERVE}}}",
            },
        ),
        Panel(
            "Age of a version's rows",
            "s",
            {
                "{{instance}} {{version}}": "persia_serve_follow_seconds_behind"
                f"{{{_SERVE}}}"
            },
            "Of model servers with --follow.",
        ),
        Panel(
            "Versions that serve",
            "none",
            {"{{instance}} {{version}}": f"persia_serve_version_serving{{{_SERVE}}}"},
        ),
    ),
}


def panels() -> list[Panel]:
    """Returns all panels, in the order of the page."""
    return [panel for row in ROWS.values() for panel in row]
