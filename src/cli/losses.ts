/** @module `countersign losses list|acknowledge`: what a tenant has lost, and that it cannot be had again. */
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { printObject } from './print-object.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

const COLUMNS = ['state', 'scope', 'code', 'stream', 'revision', 'to', 'acknowledgedAt', 'acknowledgedBy', 'reason']

/** Ends with 3 where anything is lost, open or acknowledged. */
export async function listLosses(args: Arguments): Promise<number> {
  await using api = await openWritingApi(args, { scopes: ['audit:read'] })
  await printRows(api.items('/v1/losses', {}, undefined), { columns: COLUMNS, json: args.has('json') })
  return api.exitCode()
}

/** Ends with 3 where other losses of the tenant are open. */
export async function acknowledgeLoss(args: Arguments): Promise<number> {
  const [stream, revision, reason] = [needed(args, 'stream'), needed(args, 'revision'), needed(args, 'reason')]
  if (!/^\d{1,15}$/.test(revision)) throw usageFailure(`--revision: "${revision}" is no revision`)
  await using api = await openWritingApi(args, { scopes: ['admin'] })
  const answer = await api.post('/v1/losses/acknowledge', { stream, revision: Number(revision), reason })
  printObject(answer, args.has('json'))
  return answer.open === 0 ? EXIT.ok : EXIT.unproven
}

function needed({ text }: Arguments, name: string): string {
  const value = text(name)
  if (value === undefined || value === '') throw usageFailure(`--${name} is missing`)
  return value
}
