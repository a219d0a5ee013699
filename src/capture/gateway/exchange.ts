/** @module One claimed request: sent once, its answer relayed as it arrives, and its outcome settled. */
import type { JsonObject } from '../../../schemas/json.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { inFull } from '../../agent/calls/spending.ts'
import { fieldsIn } from '../../agent/models/dialect.ts'
import { recordedUsage, soundUsage } from '../../agent/models/model-usage.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { bytesDigest } from '../../signing/digests.ts'
import { toClient } from './headers.ts'
import type { Outcome } from './model-calls.ts'
import type { ProjectedRequest } from './projected.ts'
import { errorResponse, type Provider } from './provider.ts'
import { type Clean, isExact, recordedExchange } from './recorded-exchange.ts'
import { relayedAnswer } from './relay-answer.ts'
import type { Upstream } from './upstream.ts'
import { leftCode, leftText } from './who-left.ts'

export interface ExchangeOptions {
  readonly provider: Provider
  readonly upstream: Upstream
  readonly request: JsonObject
  readonly projected: ProjectedRequest
  readonly clean: Clean
  readonly hidesUsage: boolean
  readonly gone: AbortSignal
  readonly sever: () => boolean
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** Resolves to false if the outcome could not be recorded in time. */
  readonly settle: (outcome: Outcome) => Promise<boolean>
}

const MESSAGE_MAX_CHARS = 4_096

export class Exchange {
  readonly #options: ExchangeOptions
  readonly #stopping = new AbortController()

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** Settles every outcome, and reports errors in the provider's format. */
  async answer(own: Readonly<Record<string, string>>): Promise<Response> {
    const { upstream, url, headers, body, gone } = this.#options
    const signal = linkedSignal(this.#stopping.signal, gone)
    let response: Response
    try {
      response = await upstream.fetch(url, { method: 'POST', headers, body: Buffer.from(body), signal })
    } catch (error) {
      return this.#unanswered(error, own)
    }
    const isStream = response.ok && /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
    return isStream && response.body !== null
      ? this.#streamed(response, response.body, own)
      : this.#whole(response, own)
  }

  #streamed(response: Response, body: ReadableStream<Uint8Array>, own: Readonly<Record<string, string>>): Response {
    const { upstream, settle, ...options } = this.#options
    const relayed = relayedAnswer({
      ...options,
      ...{ body, settle, reasonOf: upstream.reasonOf },
      stop: () => this.#stopping.abort(),
    })
    return new Response(relayed, { status: response.status, headers: toClient(response.headers, own) })
  }

  async #whole(response: Response, own: Readonly<Record<string, string>>): Promise<Response> {
    const { settle, provider } = this.#options
    let bytes: Uint8Array
    try {
      bytes = new Uint8Array(await response.arrayBuffer())
    } catch (error) {
      return this.#unanswered(error, own)
    }
    const outcome = response.ok ? this.#answered(bytes) : this.#refused(response, bytes)
    if (!(await settle(outcome)) && response.ok) return errorResponse(provider, { ...NOT_RECORDED, headers: own })
    return new Response(bytes.byteLength === 0 ? null : Buffer.from(bytes), {
      status: response.status,
      headers: toClient(response.headers, own),
    })
  }

  #answered(bytes: Uint8Array): Outcome {
    const { provider, projected, clean } = this.#options
    const { rate, reserve } = projected
    const answer = parseJsonOrUndefined(new TextDecoder().decode(bytes))
    const used = soundUsage(provider.dialect.usage(fieldsIn(answer)))
    const usage = used === undefined ? inFull(reserve) : recordedUsage(used, rate, false)
    const result =
      answer === undefined || !isExact(bytes)
        ? { digest: bytesDigest(bytes), bytes: bytes.byteLength, kept: false }
        : { response: recordedExchange(answer, clean) }
    return { result, ...(usage !== undefined && { usage }) }
  }

  /** A request that the provider refused has no usage. */
  #refused({ status }: Response, bytes: Uint8Array): Outcome {
    const text = new TextDecoder().decode(bytes.subarray(0, MESSAGE_MAX_CHARS))
    return { error: { code: 'provider-error', message: this.#options.clean(`${status} ${text}`), details: { status } } }
  }

  /** Settles the call after an internal error, so that it does not stay open. */
  async failed(error: unknown): Promise<void> {
    this.#stopping.abort()
    const usage = inFull(this.#options.projected.reserve)
    const message = this.#options.clean(`the gateway failed: ${error instanceof Error ? error.message : String(error)}`)
    await this.#options.settle({ error: { code: 'gateway-failed', message }, ...(usage !== undefined && { usage }) })
  }

  /** Charges the whole reservation if it is unknown whether the provider received the request. */
  async #unanswered(error: unknown, own: Readonly<Record<string, string>>): Promise<Response> {
    const { upstream, projected, clean, settle, gone, provider } = this.#options
    const reason = clean(gone.aborted ? leftText(gone) : upstream.reasonOf(error))
    const usage = !gone.aborted && upstream.wasNotSent(error) ? undefined : inFull(projected.reserve)
    const code = gone.aborted ? leftCode(gone) : usage === undefined ? 'provider-unreachable' : 'provider-silent'
    await settle({ error: { code, message: reason }, ...(usage !== undefined && { usage }) })
    const charged = usage === undefined ? 'nothing was charged' : 'what was reserved is charged, as an estimate'
    const message = `the provider gave no answer: ${reason}; ${charged}`
    return errorResponse(provider, { status: 502, code: code.replaceAll('-', '_'), message, headers: own })
  }
}

const NOT_RECORDED = {
  status: 503,
  code: 'not_recorded',
  message:
    'the model answered, and the ledger could not record it: the answer is held back, and the outcome recorded as soon as the ledger takes it',
} as const
