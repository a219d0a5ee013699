/** @module One turn: runs all calls that the model requested concurrently and returns for each its result or an error that the model can read. */
import { parseStrictText } from '../../signing/strict-json.ts'
import { callTool } from '../calls/call.ts'
import type { CallTrace } from '../calls/call-trace.ts'
import { mayPassOver } from '../calls/own-failure.ts'
import type { ToolSpec } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import { type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import { thrownText } from '../thrown.ts'
import { argumentsFor, type DescribedTool } from './describe-tools.ts'
import type { ToolMessage, ToolRequest } from './messages.ts'
import { isToolError } from './tool-error.ts'

/** An error that is not returned to the model, with the tool that threw it. */
export class TurnFailed extends Error {
  readonly spec: ToolSpec

  constructor(spec: ToolSpec, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'TurnFailed'
    this.spec = spec
  }
}

export interface TurnOptions {
  readonly tools: ReadonlyMap<string, DescribedTool>
  readonly callsMax: number
}

/** Returns answers in the order of the requests. Throws `TurnFailed` once every call has ended. */
export async function takeTurn(
  execution: ExecutionContext,
  requests: readonly ToolRequest[],
  { tools, callsMax }: TurnOptions,
): Promise<readonly ToolMessage[]> {
  const grouped = requests.length > 1 ? { ...execution, group: 'turn' } : execution
  const results = await Promise.allSettled(
    requests.map((request, i) => {
      if (i >= callsMax) return refusal(request, `at most ${callsMax} calls a turn: ask for this one in the next`)
      const tool = tools.get(request.name)
      return tool === undefined ? refusal(request, unknownTool(request, tools)) : answerTo(grouped, request, tool)
    }),
  )
  return results.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
}

async function answerTo(execution: ExecutionContext, request: ToolRequest, tool: DescribedTool): Promise<ToolMessage> {
  const { spec } = tool
  const args = argumentsOf(request)
  if (!args.ok) return refusal(request, `the arguments are no JSON that can be recorded: ${args.reason}`)
  const trace: CallTrace = { attempts: 0 }
  try {
    const result = await runWithin(execution, () => callTool(execution, spec, argumentsFor(tool, args.value), trace))
    const whole = spec.stream ? await wholeOf(result as AsyncIterable<unknown>) : result
    return { role: 'tool', callId: request.id, name: request.name, content: textOf(whole) }
  } catch (error) {
    if (isToolError(error)) return refusal(request, error.message)
    // If no call was recorded, the arguments of this call were refused; otherwise the error comes from a call that the tool itself made.
    const unfit = error instanceof AgentError && UNFIT.has(error.code) && trace.callId === undefined
    if (unfit) return refusal(request, error.message)
    if (continuesAfter(execution, spec, error)) return refusal(request, thrownText(error))
    throw new TurnFailed(spec, error)
  }
}

/** Whether the tool is configured so that its failures are returned to the model. */
function continuesAfter(execution: ExecutionContext, { onFailure, retryScope }: ToolSpec, error: unknown): boolean {
  return onFailure === 'continue' && retryScope === 'tool' && mayPassOver(execution, error)
}

const UNFIT: ReadonlySet<string> = new Set(['invalid-arguments', 'not-recordable'])

type Arguments = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

/** Models write arguments as JSON text; an empty text means an empty object. */
function argumentsOf({ arguments: input }: ToolRequest): Arguments {
  if (typeof input !== 'string') return { ok: true, value: input }
  if (input.trim() === '') return { ok: true, value: {} }
  const parsed = parseStrictText(input)
  return parsed.ok ? { ok: true, value: parsed.value } : { ok: false, reason: parsed.error.message }
}

function unknownTool({ name }: ToolRequest, tools: ReadonlyMap<string, DescribedTool>): string {
  return `there is no tool ${JSON.stringify(name)}; there are: ${[...tools.keys()].join(', ')}`
}

function refusal({ id, name }: ToolRequest, content: string): ToolMessage {
  return { role: 'tool', callId: id, name, content, isError: true }
}

/** Collects the parts of a streaming tool's result: joined if all are strings, else as a list. */
async function wholeOf(parts: AsyncIterable<unknown>): Promise<unknown> {
  const all: unknown[] = []
  for await (const part of parts) all.push(part)
  return all.every((part) => typeof part === 'string') ? all.join('') : all
}

function textOf(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result ?? null)
}
