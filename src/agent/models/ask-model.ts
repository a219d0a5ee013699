/** @module A model call as a call of the run: budget is reserved, the model is called, usage is settled, and the answer is served from the record later. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { Reserve } from '../../../schemas/requests.ts'
import type { Usage } from '../../../schemas/values.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import { callTool } from '../calls/call.ts'
import type { CallTrace } from '../calls/call-trace.ts'
import type { ErrorClass } from '../calls/caught-error.ts'
import { inFull } from '../calls/spending.ts'
import type { CallContext } from '../calls/tool-options.ts'
import { type ToolSpec, toolSpec } from '../calls/tool-spec.ts'
import { AgentError } from '../errors.ts'
import { type ExecutionContext, joined } from '../runtime/execution-context.ts'
import { liveOf, reach, type Session } from '../runtime/session.ts'
import type { ConversationBook } from './conversation-book.ts'
import { answerOnRecord, failureOnRecord, requestOnRecord, servedFrom } from './model-record.ts'
import type { ModelSettings } from './model-settings.ts'
import { type Rate, recordedUsage, soundUsage } from './model-usage.ts'
import { type ModelUsage, priceOf } from './price-table.ts'
import { limitsOf, type Projection, project, type RemainingBudget, remainingIn } from './projection.ts'
import { MODEL_BACKOFF, modelWaitMs } from './provider-errors.ts'
import { caughtFromProvider } from './provider-failure.ts'

/** A model call, independent of the provider. */
export interface ModelAsk {
  readonly provider: string
  /** Operation name for tracing; default `chat`. */
  readonly operation?: 'embeddings'
  readonly model: string
  /** The request as it is recorded; its content identifies the call. */
  readonly request: Json
  /** Projected number of input tokens. */
  readonly inputTokens: number
  /** The caller's own limit on the answer, in tokens. */
  readonly outputTokens: number | undefined
  /** Whether `call` can pass the provider an output limit that the caller did not set; default true. */
  readonly boundable?: boolean
  readonly settings: ModelSettings
  /** Error classes of the provider's package, which are restored for recorded errors. */
  readonly errors?: readonly ErrorClass[] | undefined
}

/** Passed to `call` of `run.model`: the context of the call, and the limit on the answer in tokens. */
export interface ModelCallContext extends CallContext {
  /** The output limit for which budget was reserved, to be passed to the provider; undefined if the call is unlimited. */
  readonly maxOutputTokens: number | undefined
}

export interface AnswerAsk<Answer> extends ModelAsk {
  readonly call: (context: ModelCallContext) => Answer | Promise<Answer>
  readonly usage: (answer: Answer) => ModelUsage | undefined
  readonly toJson: (answer: Answer) => Json
  readonly fromJson: (json: Json) => Answer | Promise<Answer>
}

const RETRIES = 2
const FREE = { input: '0', output: '0' } as const

/** Returns the answer in the form in which it is read from the record, also for a live call. Throws `unbounded-output`, `unknown-price`, `not-recorded`. */
export async function askModel<Answer>(
  execution: ExecutionContext,
  ask: AnswerAsk<Answer>,
  origin = execution,
): Promise<Answer> {
  let live: { readonly answer: Answer; readonly json: Json } | undefined
  const spec = modelSpec(execution, ask, {
    execute: async (context) => {
      const answer = await ask.call(context)
      live = { answer, json: inCanonicalOrder(ask.toJson(answer)) }
      return answerOnRecord(live.json, ask.settings)
    },
    used: () => {
      const tokens = live === undefined ? undefined : soundUsage(ask.usage(live.answer))
      return tokens === undefined ? undefined : { tokens, estimated: false }
    },
    failed: () => ({ opened: false, used: undefined }),
  })
  const trace: CallTrace = { attempts: 0 }
  const args = requestOnRecord(ask, ask.settings)
  const recorded = await calledModel(execution, spec, args, trace)
  if (live !== undefined) return ask.fromJson(live.json)
  const served = servedFrom(recorded)
  if (served.kind === 'response') return ask.fromJson(served.response)
  return askModel(repeatedRequestPlace(origin, ask, trace), ask, origin)
}

export interface Used {
  readonly tokens: ModelUsage
  /** The tokens were counted here, because the provider did not report them. */
  readonly estimated: boolean
}

/** The state in which a failed attempt ended. */
export interface Opened {
  readonly opened: boolean
  readonly used: ModelUsage | undefined
  /** The part of the answer that the caller had received, in recorded form. */
  readonly received?: JsonObject
}

/** Execution and accounting of one kind of model call. */
export interface Carried {
  readonly execute: (context: ModelCallContext) => Promise<JsonObject>
  /** Usage of a successful call; undefined if it is unknown. */
  readonly used: () => Used | undefined
  /** For the last attempt: whether the caller had received part of the answer, and the usage counted for it. */
  readonly failed: () => Opened
}

export function modelSpec(execution: ExecutionContext, ask: ModelAsk, carried: Carried): ToolSpec {
  const { settings, provider } = ask
  const rate = rateOf(execution, ask)
  let bound: Projection['outputTokens']
  const { conversations } = execution.session
  const execute = (args: unknown, context: CallContext): unknown => {
    // The call has been claimed, so its request is recorded.
    conversations.recorded((args as JsonObject).request)
    return carried.execute({ ...context, maxOutputTokens: bound })
  }
  const spec = toolSpec(
    { name: `model:${provider}`, input: undefined, takes: 'value', execute },
    { compensate: 'not-needed', onUnknown: 'retry', dedupe: 'position', retries: settings.retries ?? RETRIES },
  )
  const agent = settings.agent ?? execution.step?.agent
  return {
    ...spec,
    phase: 'model',
    operation: { operation: ask.operation ?? 'chat', name: ask.model, provider },
    recordedAs: (args) => shorter(args, conversations),
    ...(agent !== undefined && { agent }),
    timeoutMs: settings.timeout,
    leaseMs: settings.leaseMs,
    reserve: async () => {
      const projection = project(projectedOf(ask, { agent, rate }), await remainingBudget(execution.session, agent))
      bound = projection.outputTokens
      return projection.reserve
    },
    usage: (_, { reserved }) => usageOf(carried.used(), { rate, reserved }),
    usageOfFailure: ({ kind }, { reserved }) => {
      const { opened, used } = carried.failed()
      if (opened && used !== undefined) return recordedUsage(used, rate, true)
      // An interrupted or abandoned call is charged its whole reservation. A provider that refused the request charged nothing.
      return opened || kind === 'unknown' ? inFull(reserved) : undefined
    },
    failure: (error) => failureOnRecord(error, { ...settings, ...carried.failed(), errors: ask.errors }),
    caught: (failure, options) => caughtFromProvider(failure, ask.errors ?? [], options),
    retryWaitMs: (error, failures) => {
      if (carried.failed().opened) return undefined
      const inputs = { backoff: settings.backoff ?? MODEL_BACKOFF, random: Math.random(), nowMs: Date.now() }
      return modelWaitMs(error, failures, inputs)
    },
  }
}

/** Calls the model by position. A request whose outcome is served, an answer or a failure, is marked as recorded, as one that is carried out. */
export async function calledModel(
  execution: ExecutionContext,
  spec: ToolSpec,
  args: JsonObject,
  trace: CallTrace,
): Promise<Json> {
  const { conversations, history } = execution.session
  try {
    return (await callTool(byPosition(execution), spec, args, trace)) as Json
  } finally {
    const { callId, carriedOut } = trace
    // What a branch inherits is in the record of another run.
    const isHere = callId !== undefined && history?.run.inherited?.calls.has(callId) !== true
    if (isHere && carriedOut !== true) conversations.recorded(args.request)
  }
}

/** Replaces a request by its change since an earlier one, if that is shorter. */
function shorter(args: Json, conversations: ConversationBook): Json {
  if (!isJsonObject(args) || args.request === undefined) return args
  const { request, ...identity } = args
  const change = conversations.changeOf(request)
  return change === undefined ? args : { ...identity, change }
}

function projectedOf(ask: ModelAsk, { agent, rate }: { agent: string | undefined; rate: Rate }) {
  const { inputTokens, outputTokens, boundable = true, settings } = ask
  const maxOutputTokens = settings.maxOutputTokens ?? rate.price?.maxOutputTokens
  return { agent, rate, inputTokens, outputTokens, maxOutputTokens, boundable }
}

function usageOf(used: Used | undefined, of: { rate: Rate; reserved: Reserve | undefined }): Usage | undefined {
  return used === undefined ? inFull(of.reserved) : recordedUsage(used.tokens, of.rate, used.estimated)
}

function rateOf({ session }: ExecutionContext, { provider, model, settings }: ModelAsk): Rate {
  const { prices } = session
  const own = settings.price === 'free' ? FREE : settings.price
  const price = own ?? priceOf(prices, provider, model)
  return { provider, model, price, currency: prices?.currency }
}

function byPosition(execution: ExecutionContext): ExecutionContext {
  return { ...execution, dedupe: 'position' }
}

/**
 * The place at which a served call is requested again because its content was not recorded: a new scope below `origin`, the place of the first request, so that
 * later calls keep their places. Throws `not-recorded` unless `onMissing` is `call` and the run is live.
 */
export function repeatedRequestPlace(
  origin: ExecutionContext,
  ask: ModelAsk,
  { callId = '' }: CallTrace,
): ExecutionContext {
  const { session } = origin
  if (ask.settings.onMissing !== 'call' || session.live === undefined) {
    const message = `what ${ask.provider}/${ask.model} answered then is not recorded (call ${callId}): the run cannot go on from there; onMissing: 'call' asks again`
    throw session.halt(new AgentError('not-recorded', message, { callId }))
  }
  return { ...origin, isAgain: true, scope: joined(origin.scope, `again:${callId}`) }
}

// The remaining budget of a run, as reported by its ledger; in a replay, the budget at its start. A run without limits is queried only once.

const UNLIMITED: RemainingBudget = { tokens: undefined, nano: undefined }

/** Sessions whose run has no limit; limits never change during a run. */
const unlimited = new WeakSet<Session>()

async function remainingBudget(session: Session, agent: string | undefined): Promise<RemainingBudget> {
  if (session.live === undefined) return limitsOf(session.history?.run.budget ?? {}, agent)
  if (unlimited.has(session)) return UNLIMITED
  const { connection } = liveOf(session)
  const document = await reach(session, () => connection.budget(session.runId))
  const limits = { ...(document.limits as object), ...(document.agentLimits as object) }
  if (Object.keys(limits).length === 0) unlimited.add(session)
  return remainingIn(document, agent)
}
