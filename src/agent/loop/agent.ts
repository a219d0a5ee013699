/**
 * @module The tool-calling loop: asks a model, runs the calls it requests and returns their results to it, until it answers. Every turn of the model and every
 * call is recorded, so that a resume and a replay go through the same conversation.
 */
import type { Json } from '../../../schemas/json.ts'
import { pause } from '../../client/transport.ts'
import { backoffMs } from '../calls/backoff.ts'
import { LEASE } from '../calls/check-tool.ts'
import { AgentError } from '../errors.ts'
import { aName, anyText, atLeast1, checkOptions, type OptionRules } from '../option-rules.ts'
import { currentExecution, type ExecutionContext, joined } from '../runtime/execution-context.ts'
import { rollBackScope } from '../saga/roll-back-scope.ts'
import { failureTypeOf } from '../tracing/spanned.ts'
import { askModel, type History, namedModel } from './ask-model.ts'
import { aModel, checkConversation, someTools } from './check-agent.ts'
import { type DescribedTool, describeTools, type LoopTool } from './describe-tools.ts'
import type { AssistantMessage, Message, Model, ToolMessage, ToolRequest } from './messages.ts'
import { TurnFailed, takeTurn } from './turn.ts'

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
      if (session.live !== undefined) await pause(backoffMs(spec.backoff, tries, Math.random()), session.signal)
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
