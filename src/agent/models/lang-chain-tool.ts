/** @module `langchainTool` makes a LangChain tool a tool of the run. */
import { callTool } from '../calls/call.ts'
import type { ToolOptions } from '../calls/tool-options.ts'
import { specOf } from '../calls/wrap-tool.ts'
import { AgentError } from '../errors.ts'
import { currentExecution } from '../runtime/execution-context.ts'
import type { Countersign } from '../runtime/runtime.ts'
import type { Method } from './lang-chain.ts'

/**
 * Returns the same StructuredTool, with its type: each call is claimed, deduplicated by its place, recorded, served and undone according to the options.
 * LangChain validates the arguments first. Throws the errors of `cs.tool`.
 * @example
 * ```ts
 * import { tool } from '@langchain/core/tools'
 * import { langchainTool, open } from 'countersign/agent'
 * import { z } from 'zod'
 *
 * await using cs = await open({ path: ':memory:' })
 * const bare = tool(async ({ city }) => `a room in ${city}`, { name: 'book', description: 'books a room', schema: z.object({ city: z.string() }) })
 * const book = langchainTool(cs, bare, { compensate: 'not-needed' })
 * console.log(await cs.run({ name: 'trip' }, async () => String(await book.invoke({ city: 'Oslo' }))))
 * ```
 */
export function langchainTool<Target extends object & { readonly name: string; readonly description?: string }>(
  cs: Countersign,
  tool: Target,
  options: ToolOptions = {},
): Target {
  const { name, description = '' } = tool
  const call = Reflect.get(tool, '_call') as Method
  const registered = cs.tool({
    name,
    description,
    dedupe: 'position',
    ...options,
    execute: (args: unknown) => Reflect.apply(call, tool, [args]),
  })
  const spec = specOf(registered)
  if (spec === undefined) throw new TypeError('cs.tool makes tools')
  const tracked: Method = async (args, callbacks, config) => {
    const execution = currentExecution()
    if (execution === undefined) {
      throw new AgentError('no-active-run', `${name} was called outside of a run: use the bare tool there`, {
        tool: name,
      })
    }
    // LangChain passes callbacks and configuration with each call.
    const execute = (input: unknown): unknown => Reflect.apply(call, tool, [input, callbacks, config])
    return callTool(execution, { ...spec, execute }, args)
  }
  return new Proxy(tool, { get: (raw, key, receiver) => (key === '_call' ? tracked : Reflect.get(raw, key, receiver)) })
}
