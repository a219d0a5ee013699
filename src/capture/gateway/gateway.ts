/**
 * @module The model gateway: requests of OpenAI and Anthropic clients are claimed with a reservation before they are forwarded, and settled with the usage that
 * the provider reports.
 */
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { Name } from '../../../schemas/names.ts'
import type { Connection, Problem } from '../../agent/runtime/connection.ts'
import { ledgerConnection } from '../../agent/runtime/ledger-connection.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import { withTimeout } from '../../resources/with-timeout.ts'
import { parseStrictJson } from '../../signing/strict-json.ts'
import { Exchange } from './exchange.ts'
import { type GatewayFile, mayUse, type ProviderName } from './gateway-file.ts'
import { GatewayRuns, RUN_HEADER, runIdOf } from './gateway-runs.ts'
import { toClient, toUpstream } from './headers.ts'
import { type Claimed, type GatewayLog, ModelCalls } from './model-calls.ts'
import { projectedRequest } from './projected.ts'
import { errorResponse, type GatewayError, PROVIDERS, type Provider } from './provider.ts'
import { KEYS_MAX, recordedExchange, withoutKeys } from './recorded-exchange.ts'
import type { Upstream } from './upstream.ts'
import { withMember } from './with-member.ts'

export interface GatewayOptions {
  readonly file: GatewayFile
  readonly upstreams: Readonly<Partial<Record<ProviderName, Upstream>>>
  readonly log: GatewayLog
  readonly now?: () => number
}

export interface GatewayAsk {
  readonly method: string
  readonly path: string
  /** Query string including its question mark. */
  readonly search: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** The key that the client sent. */
  readonly key: string
  readonly caller: Caller & { readonly subject: string }
  readonly ledger: Ledger
  readonly traceparent: string | undefined
  /** Aborted when the client disconnects, or with `CLOSED_BY_US` when this process does. */
  readonly gone: AbortSignal
  /** Closes the client's connection after the written bytes; false if there is no connection to close. */
  readonly sever: () => boolean
}

const BODY_MAX_BYTES = 32 * 1024 * 1024
/** Maximum time to record an outcome; after it the answer is withheld. */
const RECORD_MS = 5_000

interface Asked extends GatewayAsk {
  readonly provider: Provider
  readonly upstream: Upstream
}

interface ModelRequest {
  readonly request: JsonObject
  readonly model: string
}

export class ModelGateway {
  readonly #options: GatewayOptions
  readonly #calls: ModelCalls
  readonly #runs = new GatewayRuns()
  readonly prefixes: readonly string[] = ['/openai', '/anthropic']

  constructor(options: GatewayOptions) {
    this.#options = options
    this.#calls = new ModelCalls(options.log)
  }

  /** Formats an error like the provider that the path belongs to. */
  refuse(path: string, error: GatewayError): Response {
    return errorResponse(providerOf(path), error)
  }

  async answer(ask: GatewayAsk): Promise<Response> {
    const provider = providerOf(ask.path)
    const upstream = this.#options.upstreams[provider.name]
    const below = ask.path.slice(`/${provider.name}/v1`.length)
    const isModelCall = ask.method === 'POST' && below === provider.modelPath
    const isFree =
      ask.method === 'GET' && provider.freePaths.some((free) => below === free || below.startsWith(`${free}/`))
    if (!isModelCall && !isFree) return errorResponse(provider, notHere(provider, ask))
    if (upstream === undefined) return errorResponse(provider, notConfigured(provider))
    const asked = { ...ask, provider, upstream }
    return isFree ? this.#passed(asked, below) : this.#modelCall(asked)
  }

  /** Sends outstanding records to the ledger, for at most `graceMs` milliseconds. */
  async close(graceMs: number): Promise<void> {
    await this.#calls.close(graceMs)
  }

  async #passed(asked: Asked, below: string): Promise<Response> {
    const { provider, upstream, headers, key, search, gone } = asked
    try {
      const sent = toUpstream(headers, { provider, upstreamKey: upstream.key(), key })
      const response = await upstream.fetch(`${upstream.url}${below}${search}`, { headers: sent, signal: gone })
      return new Response(response.body, { status: response.status, headers: toClient(response.headers, {}) })
    } catch (error) {
      return errorResponse(provider, noAnswer(upstream.reasonOf(error)))
    }
  }

  async #modelCall(asked: Asked): Promise<Response> {
    const { provider } = asked
    const read = this.#requestIn(asked)
    if ('status' in read) return errorResponse(provider, read)
    const claiming = await this.#claim(asked, read).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a model call could not be recorded: nothing was sent')
      return LEDGER_AWAY
    })
    if ('status' in claiming) return errorResponse(provider, claiming)
    const { claimed, exchange } = claiming
    try {
      return await exchange.answer({ 'x-countersign-run': claimed.runId, 'x-countersign-call': claimed.callId })
    } catch (error) {
      await exchange.failed(error)
      throw error
    }
  }

  #requestIn({ body, caller }: Asked): ModelRequest | GatewayError {
    const parsed = parseStrictJson(body, { maxBytes: BODY_MAX_BYTES, maxKeys: KEYS_MAX })
    if (!parsed.ok)
      return {
        status: 400,
        code: 'invalid_json',
        message: `the body is no JSON that can be recorded: ${parsed.error.message}`,
      }
    const request = parsed.value
    const model = isJsonObject(request) ? Name.safeParse(request.model) : undefined
    if (model?.success !== true)
      return { status: 400, code: 'invalid_model', message: 'the body takes a model by its name' }
    if (mayUse(this.#options.file.keys, caller, model.data))
      return { request: request as JsonObject, model: model.data }
    const message = `this key may not use the model ${model.data}: the rules of the gateway's file name the models of each key`
    return { status: 403, code: 'model_not_allowed', message }
  }

  async #claim(
    asked: Asked,
    { request, model }: ModelRequest,
  ): Promise<{ claimed: Claimed; exchange: Exchange } | GatewayError> {
    const { provider, upstream, caller, headers, body, key, ledger, traceparent, gone, sever } = asked
    const { file, now = Date.now } = this.#options
    const { tenant, agent } = caller
    const runId = runIdOf(caller, headers.get(RUN_HEADER), now())
    if (runId === undefined) return { status: 400, code: 'invalid_run', message: `${RUN_HEADER} takes the id of a run` }
    const connection = connectionOf(ledger, caller)
    const ready = await this.#runs.ready({ connection, tenant, runId, agent, budget: file.budget })
    if (!ready.ok) return refused(ready.problem, runId)
    const projected = projectedRequest({ provider, file, model, request, bytes: body.byteLength, agent })
    if (ready.limitsCost && projected.rate.price === undefined) return unpriced(model, runId)

    const upstreamKey = upstream.key()
    const clean = withoutKeys([upstreamKey, key])
    const args = { provider: provider.name, model, request: recordedExchange(request, clean) }
    const tool = `model:${provider.name}`
    const claiming = await this.#calls.claim(connection, {
      runId,
      tool,
      args,
      agent,
      reserve: projected.reserve,
      traceparent,
    })
    if (!claiming.ok) return refused(claiming.problem, runId)
    const { claimed } = claiming
    const isAsking = request.stream === true && provider.usageOption !== undefined
    const hidesUsage = isAsking && !asksUsage(request)
    const exchange = new Exchange({
      ...{ provider, upstream, request, projected, clean, hidesUsage, gone, sever },
      url: `${upstream.url}${provider.modelPath}${asked.search}`,
      headers: toUpstream(headers, { provider, upstreamKey, key }),
      body: hidesUsage ? withUsage(provider, body, request) : body,
      settle: (outcome) => this.#settled(this.#calls.settle(claimed, outcome)),
    })
    return { claimed, exchange }
  }

  /** Whether the outcome was recorded in time. */
  async #settled(settling: Promise<boolean>): Promise<boolean> {
    try {
      return await withTimeout(settling, RECORD_MS, () => new Error('late'))
    } catch {
      return false
    }
  }
}

function providerOf(path: string): Provider {
  return path.startsWith('/anthropic') ? PROVIDERS.anthropic : PROVIDERS.openai
}

function connectionOf(ledger: Ledger, caller: Caller): Connection {
  return ledgerConnection({ ledger, caller, place: 'this process', close: async () => undefined })
}

function asksUsage({ stream_options: options }: JsonObject): boolean {
  return isJsonObject(options ?? null) && (options as JsonObject).include_usage === true
}

function withUsage({ usageOption }: Provider, body: Uint8Array, request: JsonObject): Uint8Array {
  if (usageOption === undefined) return body
  const text = new TextDecoder().decode(body)
  return new TextEncoder().encode(withMember(text, request, usageOption.member, usageOption.value))
}

const LEDGER_AWAY: GatewayError = {
  status: 503,
  code: 'ledger_away',
  message:
    'the ledger that must record this request cannot do so now: nothing was sent. Ask again once it is back; its log says why',
  retry: true,
  headers: { 'retry-after': '1' },
}

function noAnswer(reason: string): GatewayError {
  return { status: 502, code: 'provider_unreachable', message: `the provider gave no answer: ${reason}` }
}

function notHere({ name, modelPath, freePaths }: Provider, { method, path }: GatewayAsk): GatewayError {
  const free = freePaths.map((each) => `GET /${name}/v1${each}`).join(', ')
  const message = `the gateway does not pass ${method} ${path} on: it has POST /${name}/v1${modelPath} and ${free}`
  return { status: 404, code: 'not_found', message }
}

function notConfigured({ name }: Provider): GatewayError {
  const message = `the gateway has no upstream "${name}": name its url and key in the file of --gateway`
  return { status: 404, code: 'upstream_not_configured', message }
}

function unpriced(model: string, runId: string): GatewayError {
  const message = `the run ${runId} has a limit of cost, and the model ${model} has no price: add it to "prices" in the file of --gateway`
  return { status: 403, code: 'price_unknown', message }
}

const STATUS: Readonly<Record<string, number>> = {
  'budget-exceeded': 429,
  'value-too-large': 413,
  'redaction-too-large': 413,
  'refusals-exhausted': 429,
}

function refused({ code, detail }: Problem, runId: string): GatewayError {
  const hint =
    code === 'budget-exceeded' ? '. Nothing was sent. Name a run with a larger budget by x-countersign-run' : ''
  return {
    status: STATUS[code] ?? 403,
    code: code.replaceAll('-', '_'),
    message: `the ledger refused this request in the run ${runId}: ${detail}${hint}`,
  }
}
