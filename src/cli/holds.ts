/** @module `countersign holds list|place|release`: legal holds of a tenant. */

import type { Api } from './api.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { each } from './losses.ts'
import { printObject } from './print-object.ts'
import { printRows } from './table.ts'
import { openWritingApi } from './writing-api.ts'

const COLUMNS = ['hold', 'state', 'scope', 'run', 'placedBy', 'placedAt', 'reason', 'releasedBy', 'releasedAt']

export async function listHolds(args: Arguments): Promise<number> {
  await using api = await openApi(args)
  const { items } = await api.get('/v1/holds')
  await printRows(each(items), { columns: COLUMNS, json: args.has('json') })
  return api.exitCode()
}

export async function placeHold(args: Arguments): Promise<number> {
  const { text, has } = args
  const [run, subject, reason] = [text('run'), text('subject'), needed(args, 'reason')]
  const whole = has('whole-tenant') ? { tenant: true } : {}
  const what = { ...(run !== undefined && { run }), ...(subject !== undefined && { subject }), ...whole }
  if (Object.keys(what).length !== 1) throw usageFailure('say what to hold: one of --run, --subject and --whole-tenant')
  await using api = await holding(args)
  printObject(await api.post('/v1/holds', { ...what, reason }), has('json'))
  return EXIT.ok
}

export async function releaseHold(args: Arguments): Promise<number> {
  const [hold, reason] = [args.positionals[0] ?? '', needed(args, 'reason')]
  if (!/^[0-9A-Fa-f-]{36}$/.test(hold)) throw usageFailure(`"${hold}" is no id of a hold: see "countersign holds list"`)
  await using api = await holding(args)
  printObject(await api.post(`/v1/holds/${hold}/release`, { reason }), args.has('json'))
  return EXIT.ok
}

/** Over the store itself no token says who it is. */
function holding(args: Arguments): Promise<Api> {
  const as = args.text('as')
  if (args.text('url') !== undefined) return openWritingApi(args)
  if (as === undefined || as === '')
    throw usageFailure('--as is missing: a hold is placed and released by a person, by name')
  return openWritingApi(args, { subject: as, scopes: ['holds:write'] })
}

function needed({ text }: Arguments, name: string): string {
  const value = text(name)
  if (value === undefined || value === '') throw usageFailure(`--${name} is missing`)
  return value
}
