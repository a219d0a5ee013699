/** @module `countersign signals send`. */
import type { Json } from '../../schemas/json.ts'
import { parseStrictText } from '../signing/strict-json.ts'
import type { Arguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { nameOf } from './name-flags.ts'
import { printObject } from './print-object.ts'
import { runIdOf } from './run-id.ts'
import { openWritingApi } from './writing-api.ts'

/** Without --url, this command owns the ledger meanwhile. */
export async function sendSignal(args: Arguments): Promise<number> {
  const run = runIdOf(args)
  const name = nameOf('signal', args.positionals[1] ?? '') ?? ''
  const payload = payloadIn(args.text('payload'))
  const subject = nameOf('as', args.text('as'))
  if (subject !== undefined && args.text('url') !== undefined)
    throw usageFailure('--as: over --url the token says who sends it')
  await using api = await openWritingApi(args, {
    scopes: ['signals:write'],
    ...(subject !== undefined && { subject }),
  })
  const path = `/v1/runs/${run}/signals/${encodeURIComponent(name)}`
  const id = args.text('request-id')
  printObject(await api.post(path, { payload }, id), args.has('json'))
  return EXIT.ok
}

function payloadIn(text: string | undefined): Json {
  if (text === undefined) return null
  const parsed = parseStrictText(text)
  if (!parsed.ok) throw usageFailure('--payload takes JSON, such as \'{"ok":true}\' or \'"yes"\'')
  return parsed.value
}
