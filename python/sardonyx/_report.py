"""What became of a model: text for terminals, a card for notebooks."""

from __future__ import annotations

import html
from collections import Counter


class Report:
    """Facts about a session: ``nodes``, ``rewrites``, ``providers``, ``plan_bytes``; prints as text.

    nodes: list of dicts with name, op_type, domain, provider, reason, inputs, outputs, type, in the order they run.
    rewrites: list of (name, what it touched).
    providers: {provider: number of nodes}.
    plan_bytes: working memory of a run with the feed that was given; None without one.
    """

    _KEYS = ("name", "op_type", "domain", "provider", "reason", "inputs", "outputs", "type")

    def __init__(self, session, input_feed=None):
        from . import _native

        native = session._sess
        self.nodes: list[dict[str, str]] = [dict(zip(self._KEYS, row)) for row in native.nodes()]
        self.rewrites: list[tuple[str, str]] = native.rewrites()
        self.providers: dict[str, int] = dict(Counter(n["provider"] for n in self.nodes))
        self.plan_bytes: int | None = None
        if input_feed is not None:
            self.plan_bytes = native.plan_bytes([(k, _native.Value.wrap(v)) for k, v in input_feed.items()])
        self._title = repr(session)

    def __str__(self):
        lines = [self._title, f"{len(self.nodes)} nodes run: " + ", ".join(f"{n} on {p}" for p, n in self.providers.items())]
        for name, n in Counter(r[0] for r in self.rewrites).most_common():
            lines.append(f"  rewrite {name}: {n}")
        for n in self.nodes:
            if n["reason"]:
                lines.append(f"  {n['name']} ({n['op_type']}) is on {n['provider']}: {n['reason']}")
        if self.plan_bytes is not None:
            lines.append(f"working memory of a run: {self.plan_bytes:,} bytes")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"


_OPS_SHOWN = 8


def card(session) -> str:
    """The model as a small card: what goes in, what comes out, what it is made of."""
    meta = session.get_modelmeta()
    ops = Counter(row[1] for row in session._sess.nodes())
    top = ops.most_common(_OPS_SHOWN)
    most = top[0][1] if top else 1
    esc = html.escape

    def ports(args):
        return "".join(f"<tr><td><b>{esc(a.name)}</b></td><td><code>{esc(a._text)}</code></td></tr>" for a in args)

    bars = "".join(
        f"<tr><td>{esc(op)}</td><td><svg width='120' height='10'><rect width='{max(2, 120 * n // most)}' height='10' "
        f"fill='#b5533c'/></svg></td><td>{n}</td></tr>"
        for op, n in top
    )
    more = f"<tr><td>{len(ops) - len(top)} more</td><td></td><td></td></tr>" if len(ops) > len(top) else ""
    title = esc(meta.graph_name or str(session._model_path or "model"))
    maker = f" by {esc(meta.producer_name)}" if meta.producer_name else ""
    about = f"<p>{esc(meta.description)}</p>" if meta.description else ""
    return (
        f"<div style='border:1px solid #ccc;border-radius:6px;padding:8px;display:inline-block'><b>{title}</b>{maker}"
        f"{about}<table><tr><td valign='top'><table><caption>inputs</caption>{ports(session.get_inputs())}</table></td>"
        f"<td valign='top'><table><caption>outputs</caption>{ports(session.get_outputs())}</table></td>"
        f"<td valign='top'><table><caption>{sum(ops.values())} nodes</caption>{bars}{more}</table></td></tr></table></div>"
    )
