"""`trueno-analyze mcp` as the client library of the protocol's own project sees it (package `mcp`).

The program is that of TRUENO_ANALYZE. Schemas of answers are held against answers by the library itself.
"""

import asyncio
import json
import os
import pathlib
import unittest

import mcp

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
SIMD = "decode/simd.run"
SLOW = "decode/simd_slow.run"
#: Characters of an answer: some eight thousand tokens.
MOST = 26_000


def server(*arguments):
    command = os.environ["TRUENO_ANALYZE"]
    arguments = ["mcp", "--root", str(DATASETS), *arguments]
    return mcp.StdioServerParameters(command=command, args=arguments, env=dict(os.environ))


def text_of(result):
    return "".join(part.text for part in result.content if part.type == "text")


class Assistant(unittest.TestCase):
    def with_client(self, work, *arguments, **options):
        async def run():
            async with mcp.Client(server(*arguments), **options) as client:
                return await work(client)

        return asyncio.run(run())

    async def answer(self, client, tool, **arguments):
        result = await client.call_tool(tool, arguments)
        text = text_of(result)
        self.assertFalse(result.is_error, text)
        self.assertEqual(json.loads(text), result.structured_content)
        self.assertLess(len(text), MOST)
        return result.structured_content

    def test_an_older_and_a_newer_client_see_the_same_tools(self):
        async def names(client):
            tools = (await client.list_tools()).tools
            for tool in tools:
                self.assertTrue(tool.annotations.read_only_hint, tool.name)
                self.assertIsNotNone(tool.output_schema, tool.name)
            return [tool.name for tool in tools]

        expected = ["open", "report", "tables", "query", "what_if", "compare", "picture"]
        self.assertEqual(self.with_client(names), expected)
        self.assertEqual(self.with_client(names, mode="legacy"), expected)

    def test_the_way_from_a_slow_step_to_a_fix(self):
        async def work(client):
            prompt = await client.get_prompt("why_is_my_step_slow", {"run": SIMD})
            self.assertIn(SIMD, prompt.messages[0].content.text)
            opened = await self.answer(client, "open", path=SIMD)
            self.assertEqual(opened["completeness"]["verdict"], "complete")
            report = await self.answer(client, "report", path=SIMD)
            worst = report["bottlenecks"][0]
            self.assertEqual(worst["class"], "sync_bound")
            rows = await self.answer(client, "query", path=SIMD, sql=worst["evidence"]["sql"])
            self.assertEqual(rows["row_count"], 128)
            predicted = await self.answer(
                client, "what_if", path=SIMD, assumptions=["kind:sync_wait=0", "kind:queue=0.5"]
            )
            self.assertEqual(len(predicted["predictions"]), 3)
            compared = await self.answer(client, "compare", base=[SIMD], run=[SLOW])
            self.assertEqual(compared["names"][0]["name"], "DownProjection")
            for table in ("kernels", "critical_path.slack"):
                columns = await self.answer(client, "tables", path=SIMD, table=table)
                self.assertTrue(columns["columns"])
            for path in ("pytorch/cpu_training.json.gz", "tiny/test.run", "divergence/nan.run"):
                await self.answer(client, "report", path=path)

        self.with_client(work)

    def test_errors_are_told_and_leave_the_session(self):
        async def work(client):
            for tool, arguments, words in [
                ("query", {"path": SIMD, "sql": "DELETE FROM bricks"}, "SELECT"),
                ("open", {"path": "/etc/passwd"}, "lies outside"),
                ("open", {"path": "no.run"}, "No such file"),
            ]:
                result = await client.call_tool(tool, arguments)
                self.assertTrue(result.is_error)
                self.assertIn(words, text_of(result))
            await self.answer(client, "open", path=SIMD)

        self.with_client(work)

    def test_steps_are_told(self):
        async def work(client):
            steps = []

            async def on(progress, total, message):
                steps.append(message)

            await client.call_tool("report", {"path": SIMD}, progress_callback=on)
            return steps

        self.assertIn("running critical_path", self.with_client(work))

    def test_tables_and_analyses_are_resources(self):
        async def work(client):
            listed = (await client.list_resources()).resources
            uris = [str(resource.uri) for resource in listed]
            self.assertIn("trueno://tables/kernels", uris)
            for uri in uris:
                contents = (await client.read_resource(uri)).contents
                self.assertTrue(contents[0].text, uri)

        self.with_client(work)


if __name__ == "__main__":
    unittest.main()
