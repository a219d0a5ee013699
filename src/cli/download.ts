/** @module Downloads a stream from a running ledger and resumes it when the connection breaks: the result is complete, or an error is thrown. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { CliFailure, EXIT, exitCodeOfStatus } from './failure.ts'
import { oneLine } from './shown.ts'

export interface Download {
  readonly url: string
  readonly token: string
}

const CURSOR_HEADER = 'countersign-export-cursor'
/** Maximum number of consecutive failures without a received byte. */
const TRIES_MAX = 6
const WAIT_MAX_MS = 10_000
const FIRST_WAIT_MS = 200
const WAIT_STATUSES: ReadonlySet<number> = new Set([429, 503])

/** Throws `CliFailure`: a network error if the ledger cannot be reached or keeps breaking off, otherwise the ledger's refusal. */
export async function* downloaded(download: Download): AsyncGenerator<Uint8Array, void> {
  let offset = 0
  let cursor: string | undefined
  let tries = 0
  for (;;) {
    const response = await requestDownload(download, cursor, offset)
    const waits = response === undefined || WAIT_STATUSES.has(response.status)
    if (response !== undefined && !waits) {
      if (!response.ok) throw await refusalOf(response)
      cursor ??= response.headers.get(CURSOR_HEADER) ?? undefined
      try {
        for await (const chunk of response.body ?? []) {
          offset += chunk.length
          tries = 0
          yield chunk
        }
        return
      } catch (error) {
        if (cursor === undefined) throw cutOff(download, offset, error)
      }
    }
    tries += 1
    if (tries >= TRIES_MAX) throw cutOff(download, offset)
    await sleep(waitMs(response, tries))
  }
}

/** Undefined if there was no response. */
async function requestDownload(
  { url, token }: Download,
  cursor: string | undefined,
  offset: number,
): Promise<Response | undefined> {
  const resumed = cursor === undefined ? url : `${url}&cursor=${cursor}&offset=${offset}`
  try {
    return await fetch(resumed, { headers: { authorization: `Bearer ${token}` }, redirect: 'error' })
  } catch {
    return undefined
  }
}

function waitMs(response: Response | undefined, tries: number): number {
  const named = Number(response?.headers.get('retry-after') ?? Number.NaN) * 1_000
  return Math.min(WAIT_MAX_MS, Number.isNaN(named) ? FIRST_WAIT_MS * 2 ** tries : named)
}

async function refusalOf(response: Response): Promise<CliFailure> {
  const body = parseJsonOrUndefined(await response.text().catch(() => ''))
  const { code = '', detail = response.statusText } = isJsonObject(body) ? body : {}
  const message = oneLine(`the ledger refused (${response.status} ${String(code)}): ${String(detail)}`)
  return new CliFailure(message, exitCodeOfStatus(response.status))
}

function cutOff({ url }: Download, offset: number, cause?: unknown): CliFailure {
  const { origin } = new URL(url)
  const message =
    offset === 0 ? `${origin} cannot be reached` : `${origin} broke off after ${offset} bytes, again and again`
  return new CliFailure(`${message}: look at it and export again`, EXIT.network, { cause })
}
