/** @module `countersign losses list|acknowledge`: lists the losses of a tenant, and acknowledges those that cannot be recovered. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { printObject } from './print-object.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

const COLUMNS = ['state', 'scope', 'code', 'stream', 'revision', 'to', 'acknowledgedAt', 'acknowledgedBy', 'reason']

/** Exits with 3 if anything is lost, open or acknowledged. */
export async function listLosses(args: Arguments): Promise<number> {
  await using api = await openWritingApi(args, { scopes: ['audit:read'] })
  const { items } = await api.get('/v1/losses')
  await printRows(each(items), { columns: COLUMNS, json: args.has('json') })
  return api.exitCode()
}

/** Exits with 3 if other losses of the tenant are open. */
export async function acknowledgeLoss(args: Arguments): Promise<number> {
  const [stream, revision, reason] = [needed(args, 'stream'), needed(args, 'revision'), needed(args, 'reason')]
  if (!/^\d{1,15}$/.test(revision)) throw usageFailure(`--revision: "${revision}" is no revision`)
  await using api = await openWritingApi(args, { scopes: ['admin'] })
  const answer = await api.post('/v1/losses/acknowledge', { stream, revision: Number(revision), reason })
  printObject(answer, args.has('json'))
  return answer.open === 0 ? EXIT.ok : EXIT.unproven
}

/** The answer has no pages. */
export async function* each(items: Json | undefined): AsyncGenerator<JsonObject, void> {
  yield* (items ?? []) as readonly JsonObject[]
}

function needed({ text }: Arguments, name: string): string {
  const value = text(name)
  if (value === undefined || value === '') throw usageFailure(`--${name} is missing`)
  return value
}
