/** @module `checkpoint`, `proof` and `keys list` with `--url`: what a running ledger says of its log, printed as the commands print it of a store. */
import { SuccessionsAnswer } from '../../schemas/answers/history.ts'
import { type JsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { parseVerifierKey } from '../merkle/note-key.ts'
import { parseNote } from '../merkle/signed-note.ts'
import { parseTlogProof } from '../merkle/tlog-proof.ts'
import { claimedOrigin, readLogCheckpoint } from '../verify/checkpoint-check.ts'
import { type Api, remoteApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { plainNote } from './log-place.ts'
import { jsonLine, oneLine } from './shown.ts'
import { writeTimestamp } from './write-timestamp.ts'

export async function servedCheckpoint({ text, has }: Arguments): Promise<number> {
  if (text('witness') !== undefined)
    throw usageFailure('--witness: it takes the store itself; keep what --url prints, and have that cosigned')
  await using api = remoteApi({ text })
  const json = has('json')
  const folder = text('timestamp')
  if (has('key')) printKey(await servedKey(api), json)
  else if (has('successions')) printSuccessions(await api.note('/v1/log/successions'), json)
  else if (folder !== undefined) writeServedTimestamp(await api.get('/v1/log/timestamp'), { folder, json })
  else printNote(await servedNote(api), json)
  return EXIT.ok
}

/** The last checkpoint of the log at `--url`, as a signed note whose signature is not checked yet. Throws `CliFailure`. */
export async function servedNote(api: Pick<Api, 'note'>): Promise<string> {
  const note = await api.note('/v1/log/checkpoint')
  if (parseNote(note) === undefined) throw noLedger('a checkpoint')
  return note
}

/** The verifier key of the log at `--url`, and its tenant. Throws `CliFailure`. */
export async function servedKey(
  api: Pick<Api, 'note'>,
): Promise<{ readonly tenant: string; readonly verifierKey: string }> {
  const verifier = parseVerifierKey((await api.note('/v1/log/key')).trim())
  if (verifier === undefined) throw noLedger('the key of a log')
  return { tenant: tenantOfLog(verifier.name), verifierKey: verifier.text }
}

/** The keys that the ledger at `--url` announced, and the verifier key of its log. What seals now is the last one that is not retired. */
export async function servedKeys({ text, has }: Pick<Arguments, 'text' | 'has'>): Promise<number> {
  await using api = remoteApi({ text })
  const { tenant, verifierKey } = await servedKey(api)
  const keys: JsonObject[] = []
  for await (const { kid, announced, retired } of api.items('/v1/audit/keys', {})) {
    if (typeof kid !== 'string') throw noLedger('the keys')
    keys.push({ kid, use: 'seal', ...(announced && { announced }), ...(retired && { retired }) })
  }
  const lines = keys.map(({ kid, announced = '', retired }) => {
    const state = retired === undefined ? 'seals events' : `retired ${String(retired)}`
    return oneLine(`${String(kid).padEnd(14)}seal   announced ${String(announced)}  ${state}`)
  })
  const log = `log of ${tenant}: verifier key  ${verifierKey}`
  process.stdout.write(has('json') ? jsonLine({ keys, logKey: verifierKey }) : `${[...lines, log].join('\n')}\n`)
  return api.exitCode()
}

function printKey(key: { readonly tenant: string; readonly verifierKey: string }, json: boolean): void {
  process.stdout.write(json ? jsonLine(key) : plainNote(`${key.verifierKey}\n`))
}

function printSuccessions(text: string, json: boolean): void {
  const { data: successions } = SuccessionsAnswer.safeParse(parseJsonOrUndefined(text))
  if (successions === undefined) throw noLedger('the successions of keys')
  process.stdout.write(json ? jsonLine({ successions }) : `${JSON.stringify(successions, null, 2)}\n`)
}

function printNote(note: string, json: boolean): void {
  process.stdout.write(json ? jsonLine({ tenant: tenantOfLog(claimedOrigin(note)), note }) : plainNote(note))
}

function writeServedTimestamp(
  { checkpoint, reply, size, time, authority }: JsonObject,
  place: { readonly folder: string; readonly json: boolean },
): void {
  if (typeof size !== 'number' || ![checkpoint, reply, time, authority].every((each) => typeof each === 'string'))
    throw noLedger('a time-stamp')
  const text = String(checkpoint)
  const stamp = { text, reply: String(reply), size, time: String(time), authority: String(authority) }
  writeTimestamp(stamp, { ...place, tenant: tenantOfLog(claimedOrigin(text)) })
}

/** Prints the proof of an event; with `--key`, only if that key signed the checkpoint that it leads to. */
export async function servedProof({ text, has }: Arguments, eventId: string): Promise<number> {
  if (has('trust-nothing')) throw usageFailure('--trust-nothing: here it reads the store itself, not --url')
  const key = text('key')
  const verifier = key === undefined ? undefined : parseVerifierKey(key)
  if (key !== undefined && verifier === undefined) throw usageFailure(`"${key}" is no verifier key`)
  await using api = remoteApi({ text })
  const file = await api.note(`/v1/log/events/${eventId}/proof.tlog-proof`)
  const proof = parseTlogProof(file)
  if (proof === undefined) throw noLedger('a proof')
  const read = verifier === undefined ? undefined : readLogCheckpoint(proof.checkpoint, [verifier])
  if (read?.ok === false)
    throw new CliFailure(`the checkpoint of the proof cannot be used: ${read.message}`, EXIT.unproven)
  const tenant = tenantOfLog(claimedOrigin(proof.checkpoint))
  process.stdout.write(has('json') ? jsonLine({ tenant, event: eventId, proof: file }) : plainNote(file))
  return EXIT.ok
}

/** The tenant in the name of a log, `<origin>/<tenant>`. */
function tenantOfLog(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

function noLedger(what: string): CliFailure {
  return new CliFailure(`--url: what answers there as ${what} is none: name the address of a ledger`, EXIT.network)
}
