/** @module A ledger over HTTP as the target of an import, through `POST /v1/batch`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import type { BatchItem } from '../ledger/ledger.ts'
import { type BatchAnswer, ImportRefusedError, type ImportTarget, type ItemAnswer } from './import-run.ts'

/** The ledger could not be reached, or the answer is not from a ledger. */
export class ImportNetworkError extends Error {
  readonly code = 'network'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ImportNetworkError'
  }
}

const TIMEOUT_MS = 60_000
/** Maximum number of consecutive waits when the ledger asks to wait; then the import gives up. */
const WAITS_MAX = 20
const WAIT_MAX_MS = 10_000
const WAIT_STATUSES: ReadonlySet<number> = new Set([429, 503])
const ITEM_REFUSED = 400

export function httpTarget(url: string, token: string): ImportTarget {
  const batchUrl = `${url.replace(/\/+$/, '')}/v1/batch`
  return {
    batch: async (items, key) => {
      const body = JSON.stringify({ items: items.map(itemOf) })
      for (let waits = 0; ; waits += 1) {
        const response = await post(batchUrl, { token, key, body })
        if (!WAIT_STATUSES.has(response.status) || waits >= WAITS_MAX) return await answerOf(response)
        await response.body?.cancel()
        await sleep(Math.min(WAIT_MAX_MS, Number(response.headers.get('retry-after') ?? 1) * 1_000))
      }
    },
  }
}

function itemOf({ runId, command }: BatchItem): object {
  return { run: runId, op: command.kind, ...('callId' in command && { call: command.callId }), body: command.body }
}

async function post(
  url: string,
  { token, key, body }: { readonly token: string; readonly key: string; readonly body: string },
) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key }
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    return await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    throw new ImportNetworkError(`${url} cannot be reached: ${cause}`, { cause: error })
  }
}

async function answerOf(response: Response): Promise<BatchAnswer> {
  const answer = await jsonOf(response)
  if (!response.ok) {
    throw new ImportRefusedError(String(answer.code ?? response.status), String(answer.detail ?? response.statusText))
  }
  if (!Array.isArray(answer.items)) throw new ImportNetworkError(`${response.url} does not answer as a ledger does`)
  return { items: answer.items.map(itemAnswer), replayed: response.headers.get('idempotency-replayed') === 'true' }
}

async function jsonOf(response: Response): Promise<JsonObject> {
  try {
    const value = parseJson(await response.text())
    if (isJsonObject(value)) return value
  } catch {
    // A proxy's error page, or a truncated answer.
  }
  throw new ImportNetworkError(`${response.url} does not answer as a ledger does (status ${response.status})`)
}

function itemAnswer(item: Json): ItemAnswer {
  const { status, body } = isJsonObject(item) ? item : {}
  const answer: JsonObject = isJsonObject(body) ? body : {}
  if (typeof status === 'number' && status < ITEM_REFUSED) return { ok: true, body: answer }
  return { ok: false, code: String(answer.code ?? status), detail: String(answer.detail ?? 'refused') }
}
