"""A server of the Model Context Protocol, generated from the service's own OpenAPI description.

Each tool is one call of the API, with the key that the server was given: no tool can do what the
key may not do. Without `changes` there are only tools that read, and planning. The calls that
programs make for every unit are left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from bascule import __version__
from bascule.core.errors import InputError
from bascule.live.api import NAME

if TYPE_CHECKING:
    from mcp.server import Server

LEFT_OUT = (
    "/ofrep/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/v1/units/",
    "/assign",
    "/outcomes",
    "/excluded",
    "/export",
)
"""Parts of paths for which there is no tool: they are for programs, or about single units."""

ONLY_READS = "/v1/plan"
"""Prefix of the paths whose POST requests change nothing."""

LONGEST = 200_000
"""Maximum number of characters of an answer to the client; the rest of a longer one is cut."""

GUIDE = (
    "Adaptive A/B tests: plan a design, create a test, read its status and analyse it. "
    "Probabilities of error are guarantees only as their `guarantee` and `meaning` say."
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool of the server: its name, its arguments, and the API call that it makes."""

    name: str
    method: str
    path: str
    words: str
    places: dict[str, str]
    """The place of each argument in the request: path, query or body."""
    schema: dict[str, Any]

    @property
    def reads(self) -> bool:
        """Whether the call is read-only."""
        return self.method == "get" or self.path.startswith(ONLY_READS)


def calls_of(description: dict[str, Any], changes: bool = False) -> list[Call]:
    """Return the tools for an OpenAPI description; without `changes`, only read-only ones."""
    parts = description.get("components", {}).get("schemas", {})
    listed = []
    for path, operations in description["paths"].items():
        if any(part in path for part in LEFT_OUT):
            continue
        for method, operation in operations.items():
            call = _call(path, method, operation, parts)
            if changes or call.reads:
                listed.append(call)
    return listed


def _call(path: str, method: str, operation: dict[str, Any], parts: dict[str, Any]) -> Call:
    properties: dict[str, Any] = {}
    places: dict[str, str] = {}
    needed = []
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        properties[name], places[name] = parameter["schema"], parameter["in"]
        needed += [name] if parameter.get("required") else []
    sent = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if sent:
        body = parts[sent["schema"]["$ref"].rpartition("/")[2]]
        for name, schema in body.get("properties", {}).items():
            properties[name], places[name] = schema, "body"
            needed += [name] if name in body.get("required", ()) else []
    schema = {"type": "object", "properties": properties, "required": needed, "$defs": parts}
    text = json.dumps(schema).replace("#/components/schemas/", "#/$defs/")
    short = path.removeprefix("/v1/").replace("experiments/{name}", "experiment")
    steps = [step for step in short.split("/") if not step.startswith("{")]
    name = "_".join([method, *steps]).replace("-", "_")
    words = operation.get("description") or operation.get("summary", "")
    return Call(name, method, path, words, places, json.loads(text))


async def make(
    client: httpx.AsyncClient, call: Call, arguments: dict[str, Any]
) -> tuple[str, bool]:
    """Call the API with the arguments of a tool; return the answer, and whether it is an error."""
    unknown = arguments.keys() - call.places.keys()
    if unknown:
        return f"{min(unknown)!r:.60} is not an argument of {call.name}", True
    path, query, body = call.path, {}, {}
    for name, value in arguments.items():
        place = call.places[name]
        if place == "path":
            # A slash would lead to another path, even when encoded, since servers decode %2F.
            if not NAME.fullmatch(str(value)):
                return f"{name} {str(value)!r:.60} is not the name of a test", True
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        elif place == "query":
            query[name] = value
        else:
            body[name] = value
    if "{" in path:
        return f"{call.name} needs a name", True
    sends = any(place == "body" for place in call.places.values())
    answer = await client.request(call.method, path, params=query, json=body if sends else None)
    text = answer.text
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n(cut off after {LONGEST:,} of {len(text):,} characters)"
    return text or f"done ({answer.status_code})", not answer.is_success


def make_server(client: httpx.AsyncClient, calls: list[Call]) -> Server[Any]:
    """Make the MCP server whose tools make these calls."""
    from mcp import types
    from mcp.server import Server

    by_name = {call.name: call for call in calls}
    tools = [
        types.Tool(
            name=call.name,
            description=call.words,
            input_schema=call.schema,
            annotations=types.ToolAnnotations(
                read_only_hint=call.reads, destructive_hint=not call.reads
            ),
        )
        for call in calls
    ]

    async def list_tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
        call = by_name.get(asked.name)
        if call is None:
            text, failed = f"there is no tool {asked.name!r:.60}", True
        else:
            text, failed = await make(client, call, dict(asked.arguments or {}))
        content: list[Any] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, is_error=failed)

    return Server(
        "bascule",
        version=__version__,
        instructions=GUIDE,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve(url: str, key: str, changes: bool = False) -> None:
    """Serve the tools on standard input and output until the client leaves."""
    from mcp.server.stdio import stdio_server

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=240.0) as client:
        try:
            described = await client.get("/openapi.json")
            described.raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise InputError(
                "url",
                f"{url} does not answer as a service of bascule ({type(problem).__name__}): check "
                "the address and the key, or start bascule serve",
            ) from None
        server = make_server(client, calls_of(described.json(), changes))
        async with stdio_server() as (requests, replies):
            await server.run(requests, replies, server.create_initialization_options())
