/** @module `countersign erase`: erases a subject, through a ledger in this process or at a URL. */
import { ErasureAnswer } from '../../schemas/answers/subjects.ts'
import type { EraseSubject } from '../../schemas/erasure.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../schemas/json.ts'
import { openLedger, readIdentity } from '../compose/compose.ts'
import { silentLog } from '../ledger/effects.ts'
import type { Settings } from '../settings/config.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { tenantOf } from './log-place.ts'
import { jsonLine, oneLine } from './shown.ts'

/** The recorded actor if no caller signed in. */
const ACTOR = 'local'

/** Exit code 3 if the erasure waits for open runs. Throws `StoreOpenError` if a running ledger owns the store: use --url then. */
export async function erase(args: Arguments): Promise<number> {
  const { settings, text, has } = args
  const [subject, reason, basis] = [needed(args, 'subject'), needed(args, 'reason'), needed(args, 'basis')]
  const asked: EraseSubject = { reason, basis, ...(has('now') && { now: true }) }
  const url = text('url')
  const answer =
    url === undefined
      ? await here(settings, tenantOf(text('tenant')), { subject, asked })
      : await behind(url, args, { subject, asked })
  process.stdout.write(has('json') ? jsonLine(answer) : `${oneLine(said(answer))}\n`)
  return answer.status === 'waiting' ? EXIT.unproven : EXIT.ok
}

function needed({ text }: Arguments, name: string): string {
  const value = text(name)
  if (value === undefined || value === '') throw usageFailure(`--${name} is missing`)
  return value
}

interface Asked {
  readonly subject: string
  readonly asked: EraseSubject
}

async function here(settings: Settings, tenant: string, { subject, asked }: Asked): Promise<ErasureAnswer> {
  if ((await readIdentity(settings)) === undefined)
    throw new CliFailure('there is no ledger in this store yet: name the store with --data or --store', EXIT.usage)
  await using opened = await openLedger(settings, silentLog)
  const found = await opened.ledger.subjects.erase({ tenant, actor: ACTOR }, subject, asked)
  if (!found.ok) throw new CliFailure(found.refusal.detail)
  return found.value
}

async function behind(url: string, { text }: Arguments, { subject, asked }: Asked): Promise<ErasureAnswer> {
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`)
  const token = text('token') ?? process.env.COUNTERSIGN_TOKEN
  if (token === undefined || token === '')
    throw usageFailure('--url needs a token of scope subjects:erase: set COUNTERSIGN_TOKEN, or give --token')
  const path = `${url.replace(/\/+$/, '')}/v1/subjects/${encodeURIComponent(subject)}/erase`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(asked), redirect: 'error' as const }
  const response = await fetch(path, init).catch((error: unknown) => {
    throw new CliFailure(`${new URL(url).origin} cannot be reached`, EXIT.network, { cause: error })
  })
  const body = parseJsonOrUndefined(await response.text().catch(() => ''))
  const detail = isJsonObject(body) && typeof body.detail === 'string' ? body.detail : response.statusText
  if (!response.ok) throw new CliFailure(oneLine(`the ledger refused (${response.status}): ${detail}`))
  const answer = ErasureAnswer.safeParse(body)
  if (!answer.success) throw new CliFailure(`${new URL(url).origin} does not answer as a ledger does`, EXIT.network)
  return answer.data
}

function said({ status, counts, openRuns, keyIds }: ErasureAnswer): string {
  const runs = openRuns.join(', ')
  if (status === 'nothing') return 'nothing is kept of this subject, or it was erased before'
  if (status === 'waiting')
    return `recorded; it waits for the end of ${runs}: end these runs, or repeat with --now, after which they cannot be resumed or undone with these values`
  const { events = 0, values = 0 } = counts ?? {}
  const broken = openRuns.length === 0 ? '' : `; open runs lost these values: ${runs}`
  return `erased: ${values} values in ${events} events, ${keyIds.length} keys destroyed${broken}; copies of subjects.db made before still hold the keys: destroy them`
}
