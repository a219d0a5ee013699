/** @module `countersign mcp-server`: an MCP server on stdio through which a host's model reads a ledger. */
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { PARSE_ERROR } from '../capture/json-rpc.ts'
import { rawLines, wholeLine } from '../capture/lines.ts'
import { answerMcp, failed, toolsOnce } from '../capture/mcp-server/mcp-server.ts'
import { packageVersion } from '../settings/package-version.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT } from './failure.ts'
import { jsonLine } from './shown.ts'

const LINE_MAX_BYTES = 1024 * 1024

/** Ends with its input. Nothing but the protocol is written to standard output. */
export async function mcpServer(args: Arguments): Promise<number> {
  const version = packageVersion()
  await using api = await openApi(args, { endless: true })
  const tools = toolsOnce()
  const ledger = { json: (path: string) => api.get(path), text: (path: string) => api.note(path) }
  const open = new Set<Promise<void>>()
  for await (const line of rawLines(process.stdin, LINE_MAX_BYTES)) {
    const text = wholeLine(line).toString('utf8').trim()
    if (text === '') continue
    const message = parseJsonOrUndefined(text)
    const work = (async () => {
      const answer = isJsonObject(message)
        ? await answerMcp(message, { ledger, tools, version })
        : failed(null, PARSE_ERROR, 'the line is no JSON object')
      if (answer !== undefined) process.stdout.write(jsonLine(answer))
    })()
    open.add(work)
    void work.finally(() => open.delete(work))
  }
  await Promise.allSettled(open)
  return EXIT.ok
}
