/**
 * @module The tool-calling loop: asks a model, runs the calls it requests and returns their results to it, until it answers. Every turn of the model and every
 * call is recorded, so that a resume and a replay go through the same conversation.
 */
import type { Json } from '../../../schemas/json.ts'
import { pause } from '../../client/transport.ts'
import { parseStrictText } from '../../signing/strict-json.ts'
import { backoffMs } from '../calls/backoff.ts'
import { callTool } from '../calls/call.ts'
import type { CallTrace } from '../calls/call-trace.ts'
import { LEASE } from '../calls/check-tool.ts'
import { mayPassOver } from '../calls/own-failure.ts'
import type { ToolSpec } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import { aName, anyText, atLeast1, checkOptions, type OptionRules } from '../option-rules.ts'
import { currentExecution, type ExecutionContext, joined, runWithin } from '../runtime/execution-context.ts'
import { rollBackScope } from '../saga/roll-back-scope.ts'
import { thrownText } from '../thrown.ts'
import { failureTypeOf } from '../tracing/spanned.ts'
import { askModel, type History, namedModel } from './ask-model.ts'
import { aModel, checkConversation, someTools } from './check-agent.ts'
import { argumentsFor, type DescribedTool, describeTools, type LoopTool } from './describe-tools.ts'
import type { AssistantMessage, Message, Model, ToolMessage, ToolRequest } from './messages.ts'
import { isToolError } from './tool-error.ts'

/** An agent's configuration: its model, its tools, and its limits in turns and calls. */
export interface AgentOptions {
  readonly model: Model
  /** Tools made by `cs.tool`: a list of them, or `cs.tools` for all tools registered so far. */
  readonly tools: Iterable<LoopTool>
  /** Becomes part of the scope of the agent's calls; default `agent`. */
  readonly name?: string
  /** System message at the start of every conversation. */
  readonly system?: string
  /** Maximum number of model turns in one conversation; default 20. Beyond it, the agent throws `max-turns`. */
  readonly maxTurns?: number
  /** Maximum number of calls run in one turn; further calls get an error. Default 64. */
  readonly maxCallsPerTurn?: number
  /** Lease of a model turn in ms, renewed while the model works: how long a resume waits for a process whose death cannot be proved. Default 60,000. */
  readonly leaseMs?: number
}

/** A question, or a conversation to continue. */
export type Conversation = { readonly prompt: string } | { readonly messages: readonly Message[] }

/** The result of a conversation. */
export interface Answer {
  /** The model's last answer. */
  readonly text: string
  /** The whole conversation including the answer; append the next message and pass it in again to continue. */
  readonly messages: readonly Message[]
  readonly turns: number
  /** Number of calls that the model requested. */
  readonly calls: number
}

/** A part of a conversation, in order of arrival. `turn` counts from 1. */
export type AgentPart =
  /** A piece of the model's text. */
  | { readonly type: 'text'; readonly turn: number; readonly text: string }
  /** The model requests a call, which runs when the reader requests the next part. */
  | { readonly type: 'call'; readonly turn: number; readonly request: ToolRequest }
  | { readonly type: 'result'; readonly turn: number; readonly message: ToolMessage }
  /** Everything so far was undone, and the conversation starts again. */
  | { readonly type: 'again' }
  /** The last part. */
  | ({ readonly type: 'answer' } & Answer)

/** An agent: `generate` and `stream` hold one conversation, inside a run. */
export interface Agent {
  readonly name: string
  /**
   * Continues until the model answers without a call. Must be called inside a run. Throws a tool's error that the model cannot handle (anything but
   * `ToolError`, after all retries), `max-turns` and `invalid-model-message`.
   */
  generate(conversation: Conversation): Promise<Answer>
  /**
   * Like `generate`, but part by part, at the pace of the reader: no request is sent before the first part is read, and no call is made before the model's text
   * is read. If the reader stops early, the model is stopped, and its text so far is recorded. A resume and a replay yield the same parts. Throws like
   * `generate`, while it is read.
   */
  stream(conversation: Conversation): AsyncIterable<AgentPart>
}

const TURNS_MAX = 20
const CALLS_PER_TURN_MAX = 64

const AGENT: OptionRules<AgentOptions> = {
  model: aModel,
  tools: someTools,
  name: aName,
  system: anyText,
  maxTurns: atLeast1,
  maxCallsPerTurn: atLeast1,
  leaseMs: LEASE,
}

/**
 * Creates an agent from a model and tools of one runtime. Throws `unknown-tool`, `tool-registered-twice` and `tool-without-schema`.
 * @example
 * ```ts
 * import { agent, open, ScriptedModel } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const weather = cs.tool({ name: 'weather', execute: async ({ city }: { city: string }) => `${city}: rain`, compensate: 'not-needed' })
 * const model = new ScriptedModel([{ tool: 'weather', args: { city: 'Oslo' } }, 'Take an umbrella.'])
 * const guide = agent({
 *   model,
 *   tools: [{ tool: weather, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } }],
 * })
 * const { text, calls } = await cs.run({ name: 'ask' }, async () => guide.generate({ prompt: 'What is the weather in Oslo?' }))
 * console.log(text, calls) // Take an umbrella. 1
 * ```
 */
export function agent(options: AgentOptions): Agent {
  checkOptions('agent', options, AGENT, ['model', 'tools'])
  const { name = 'agent', maxTurns = TURNS_MAX, maxCallsPerTurn = CALLS_PER_TURN_MAX } = options
  const tools = describeTools(options.tools)
  const loop: Loop = {
    name,
    tools,
    maxTurns,
    callsMax: maxCallsPerTurn,
    model: namedModel(options.model),
    leaseMs: options.leaseMs,
  }
  /** The conversation runs at the place in the code where this function is called, regardless of where its parts are read. */
  const conversationOf = (conversation: Conversation, isRead = false): AsyncGenerator<AgentPart, Answer> => {
    checkConversation(conversation)
    const execution = placeHere(name, tools)
    const begun =
      'messages' in conversation ? conversation.messages : [{ role: 'user', content: conversation.prompt } as const]
    const system = options.system === undefined || begun.some(({ role }) => role === 'system') ? [] : [options.system]
    const messages = [...system.map((content) => ({ role: 'system', content }) as const), ...begun]
    return inAgentSpan(name, execution, (at) => converse({ ...loop, isRead }, at, messages))
  }
  return {
    name,
    generate: async (conversation) => answerIn(conversationOf(conversation)),
    stream: (conversation) => parts(conversationOf(conversation, true)),
  }
}

async function* inAgentSpan(
  name: string,
  execution: ExecutionContext,
  work: (at: ExecutionContext) => AsyncGenerator<AgentPart, Answer>,
): AsyncGenerator<AgentPart, Answer> {
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.conversation.id': execution.session.runId,
  }
  const span = execution.span?.child({ name: `invoke_agent ${name}`, kind: 'internal', attributes })
  let failure: string | undefined
  try {
    return yield* work(span === undefined ? execution : { ...execution, span })
  } catch (error) {
    failure = failureTypeOf(error)
    throw error
  } finally {
    span?.end(failure)
  }
}

async function* parts(conversation: AsyncGenerator<AgentPart, Answer>): AsyncGenerator<AgentPart, void> {
  yield { type: 'answer', ...(yield* conversation) }
}

async function answerIn(conversation: AsyncGenerator<AgentPart, Answer>): Promise<Answer> {
  for (;;) {
    const next = await conversation.next()
    if (next.done === true) return next.value
  }
}

interface Loop {
  readonly isRead?: boolean
  readonly leaseMs: number | undefined
  readonly name: string
  readonly model: ReturnType<typeof namedModel>
  readonly tools: ReadonlyMap<string, DescribedTool>
  readonly maxTurns: number
  readonly callsMax: number
}

function placeHere(name: string, tools: ReadonlyMap<string, DescribedTool>): ExecutionContext {
  const execution = currentExecution()
  if (execution === undefined)
    throw new AgentError('no-active-run', `the agent ${name} was called outside of a run: call it within cs.run(...)`)
  for (const { spec } of tools.values()) {
    if (execution.session.registry.get(spec.name) === spec) continue
    throw new AgentError('unknown-tool', `${spec.name} is a tool of another runtime than the run`, { tool: spec.name })
  }
  return execution
}

/** Retries from the start, in a new scope, if the failed tool is configured so; the scope of the failed attempt is rolled back first. */
async function* converse(
  loop: Loop,
  execution: ExecutionContext,
  begun: readonly Message[],
): AsyncGenerator<AgentPart, Answer> {
  const { session } = execution
  const number = session.occurrence(execution.scope, `agent ${loop.name}`) + 1
  const path = `${joined(execution.scope, loop.name)}:${number}`
  for (let tries = 1; ; tries += 1) {
    const scope = tries === 1 ? path : `${path}.${tries}`
    const inside: ExecutionContext = { ...execution, scope, dedupe: 'position' }
    try {
      return yield* turns(loop, inside, begun)
    } catch (error) {
      if (!(error instanceof TurnFailed)) throw error
      const { spec, cause } = error
      const again = session.halted === undefined && spec.retryScope === 'transaction' && tries <= spec.retries
      if (!again) throw cause
      const { status } = await rollBackScope(execution, scope, { error: cause })
      if (status !== 'COMPENSATED') throw cause
      if (session.isNewIn(`${path}.${tries + 1}`))
        await pause(backoffMs(spec.backoff, tries, Math.random()), session.signal)
      yield { type: 'again' }
    }
  }
}

async function* turns(
  loop: Loop,
  execution: ExecutionContext,
  begun: readonly Message[],
): AsyncGenerator<AgentPart, Answer> {
  const history: History = { messages: [...begun], recorded: 0, digest: null as Json }
  let calls = 0
  for (let turn = 1; turn <= loop.maxTurns; turn += 1) {
    const here: ExecutionContext = { ...execution, scope: joined(execution.scope, `turn:${turn}`) }
    const message = yield* turnTexts(turn, askModel(here, loop, history))
    const requests = message.toolCalls ?? []
    if (requests.length === 0) return { text: message.content ?? '', messages: history.messages, turns: turn, calls }
    calls += requests.length
    for (const request of requests) yield { type: 'call', turn, request }
    const answers = await takeTurn(here, requests, loop)
    history.messages.push(...answers)
    for (const message of answers) yield { type: 'result', turn, message }
  }
  throw new AgentError('max-turns', `the agent ${loop.name} has no answer after ${loop.maxTurns} turns`, {
    agent: loop.name,
    maxTurns: loop.maxTurns,
  })
}

async function* turnTexts(
  turn: number,
  texts: AsyncGenerator<string, AssistantMessage>,
): AsyncGenerator<AgentPart, AssistantMessage> {
  let isOver = false
  try {
    for (;;) {
      const next = await texts.next()
      isOver = next.done === true
      if (next.done === true) return next.value
      yield { type: 'text', turn, text: next.value }
    }
  } catch (error) {
    isOver = true
    throw error
  } finally {
    if (!isOver) await texts.return(undefined as never)
  }
}

// One turn: runs all calls that the model requested concurrently and returns for each its result or an error that the model can read.

/** An error that is not returned to the model, with the tool that threw it. */
class TurnFailed extends Error {
  readonly spec: ToolSpec

  constructor(spec: ToolSpec, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'TurnFailed'
    this.spec = spec
  }
}

interface TurnOptions {
  readonly tools: ReadonlyMap<string, DescribedTool>
  readonly callsMax: number
}

/** Returns answers in the order of the requests. Throws `TurnFailed` once every call has ended. */
async function takeTurn(
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
