/** @module `countersign keys disclose RUN`: discloses the keys of one ended run, so that others can check its MACs. */
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { openLedger, readIdentity } from '../compose/compose.ts'
import { STATUS } from '../http/problem-codes.ts'
import { silentLog } from '../ledger/effects.ts'
import type { Settings } from '../settings/config.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, exitCodeOfStatus, noLedgerHere, usageFailure } from './failure.ts'
import { tenantOf } from './log-place.ts'
import { oneLine } from './shown.ts'

/** The recorded actor if no caller signed in. */
const ACTOR = 'local'
const WARNING =
  'these keys can seal events of this run: from now on only a checkpoint proves it; nothing may be added to the run any more'

/** Prints the file that `verify --run-key` reads. Throws `StoreOpenError` if a running ledger owns the store: use --url then. */
export async function discloseKeys(args: Arguments): Promise<number> {
  const { settings, text, has, positionals } = args
  const [run = ''] = positionals
  const url = text('url')
  const file =
    url === undefined ? await fromStore(settings, tenantOf(text('tenant')), run) : await fromLedger(args, run)
  process.stdout.write(`${JSON.stringify(file, null, has('json') ? 0 : 2)}\n`)
  process.stderr.write(`${WARNING}\n`)
  return EXIT.ok
}

async function fromStore(settings: Settings, tenant: string, run: string): Promise<object> {
  if ((await readIdentity(settings)) === undefined) throw noLedgerHere()
  await using opened = await openLedger(settings, silentLog)
  const found = await opened.ledger.discloseRunKeys({ tenant, actor: ACTOR }, run)
  if (!found.ok) throw new CliFailure(found.refusal.detail, exitCodeOfStatus(STATUS[found.refusal.code]))
  return found.value
}

async function fromLedger({ text }: Arguments, run: string): Promise<object> {
  const url = text('url') ?? ''
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`)
  const token = text('token') ?? process.env.COUNTERSIGN_TOKEN
  if (token === undefined || token === '')
    throw usageFailure('--url needs a token of scope admin: set COUNTERSIGN_TOKEN, or give --token')
  const path = `${url.replace(/\/+$/, '')}/v1/runs/${encodeURIComponent(run)}/keys/disclose`
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(path, { method: 'POST', headers, redirect: 'error' }).catch((error: unknown) => {
    throw new CliFailure(`${new URL(url).origin} cannot be reached`, EXIT.network, { cause: error })
  })
  const body = parseJsonOrUndefined(await response.text().catch(() => ''))
  const detail = isJsonObject(body) && typeof body.detail === 'string' ? body.detail : response.statusText
  if (!response.ok)
    throw new CliFailure(
      oneLine(`the ledger refused (${response.status}): ${detail}`),
      exitCodeOfStatus(response.status),
    )
  if (!isJsonObject(body)) throw new CliFailure(`${new URL(url).origin} does not answer as a ledger does`, EXIT.network)
  return body
}
