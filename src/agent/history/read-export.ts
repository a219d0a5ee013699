/**
 * @module Reads a run from its JSONL export, after checking the digest and link of each event, and compares it with the run in the connected ledger, if any.
 */

import { readFile } from 'node:fs/promises'
import { isJsonObject, type JsonObject, parseJson } from '../../../schemas/json.ts'
import { LedgerError } from '../../client/errors.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import { dataDigest, recordDigest, sha256Hex } from '../../signing/digests.ts'
import { AgentError } from '../errors.ts'
import type { Connection, RunEvent } from '../runtime/connection.ts'

/** Reads the export of a run. Throws `not-an-export` for a file that is truncated or not the export of one run, and `export-altered`, which names the line. */
export async function readExport(
  file: string,
): Promise<{ readonly runId: string; readonly events: readonly RunEvent[]; readonly digest: string }> {
  const text = await readFile(file, 'utf8')
  const lines = text.split('\n').filter((line) => line !== '')
  const records = lines.map((line) => parsedLine(line))
  const trailer = records.pop()?.trailer
  if (!isJsonObject(trailer ?? null)) throw notAnExport(file)
  const { run, events, digest } = trailer as JsonObject
  if (typeof run !== 'string') throw notAnExport(file)
  let before: JsonObject = {}
  for (const [i, record] of records.entries()) before = checked(record, { before, revision: i, file })
  const body = text.slice(0, text.lastIndexOf(lines.at(-1) ?? ''))
  if (events !== records.length || digest !== `sha256:${sha256Hex(body)}`) {
    throw altered(file, lines.length, 'the last line counts or digests other lines than these')
  }
  const recorded = records.map(({ header, data }) => {
    const { type, time } = header as JsonObject
    return { type: String(type), time: String(time), data: data as JsonObject }
  })
  return { runId: run, events: recorded, digest: String(before.digest) }
}

/**
 * Whether the connected ledger holds the same events: the digest of the last event covers all links, and the ledger checks seals on every read. Returns false
 * if the ledger has no such run. Throws `export-altered` if the ledger holds a different record of the run.
 */
export async function isOnRecord(
  connection: Pick<Connection, 'events'>,
  file: string,
  { runId, events, digest }: Awaited<ReturnType<typeof readExport>>,
): Promise<boolean> {
  let revision = 0
  let lastDigest: string | undefined
  try {
    for await (const event of connection.events(runId)) {
      lastDigest = event.digest
      revision += 1
      if (revision === events.length) break
    }
  } catch (error) {
    if (error instanceof LedgerError && error.problem.code === 'run-not-found') return false
    throw error
  }
  if (revision === events.length && lastDigest === digest) return true
  throw altered(file, events.length, `the ledger at hand has another record of the run ${runId}`)
}

/** Checks one event and returns the digest that the next event must link to. */
function checked(record: JsonObject, at: { before: JsonObject; revision: number; file: string }): JsonObject {
  const { header, salt, data } = record
  const fault = (what: string): AgentError => altered(at.file, at.revision + 1, what)
  if (!isJsonObject(header ?? null) || typeof salt !== 'string' || data === undefined) throw fault('it is no event')
  const { revision, prev, dataDigest: expected } = header as JsonObject
  if (revision !== at.revision) throw fault(`it is revision ${revision}`)
  if (prev !== at.before.digest) throw fault('it does not continue the event before it')
  if (expected !== dataDigest(Buffer.from(salt, 'base64url'), canonicalJson(data))) {
    throw fault('its body is not the one that was sealed')
  }
  return { digest: recordDigest(canonicalJson(header as JsonObject)) }
}

function parsedLine(line: string): JsonObject {
  try {
    const value = parseJson(line)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

function notAnExport(file: string): AgentError {
  return new AgentError('not-an-export', `${file} is no whole export of one run`, { file })
}

function altered(file: string, line: number, what: string): AgentError {
  const message = `${file} was altered: line ${line}: ${what}; nothing was replayed`
  return new AgentError('export-altered', message, { file, line })
}
