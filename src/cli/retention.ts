/** @module `countersign retention list|plan|run`: archives runs that have ended, by classes of retention. */
import { realpathSync } from 'node:fs'
import { openLedger, readIdentity } from '../compose/compose.ts'
import { openReadingLedger } from '../compose/compose-reading.ts'
import {
  planRetention,
  type RetentionDeps,
  type RetentionPass,
  type RetentionPlan,
  runRetention,
} from '../export/archive/retention-pass.ts'
import { silentLog } from '../ledger/effects.ts'
import { readRetention } from '../settings/retention-file.ts'
import { archivesOf } from '../store/sqlite/archive-reader.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { tenantOf } from './log-place.ts'
import { each } from './losses.ts'
import { jsonLine, oneLine } from './shown.ts'
import { printRows } from './table.ts'

const LISTED_MAX = 100

const COLUMNS = ['archive', 'at', 'by', 'runs', 'events', 'values', 'bytes', 'classes', 'digest']

export async function listArchives(args: Arguments): Promise<number> {
  await using api = await openApi(args)
  const { items } = await api.get('/v1/archives')
  await printRows(each(items), { columns: COLUMNS, json: args.has('json') })
  return api.exitCode()
}

/** Reads the store, whether or not a ledger is running. */
export async function planned(args: Arguments): Promise<number> {
  const asked = await askedBy(args)
  await using opened = await openReadingLedger(args.settings, { onRead: () => undefined, seesSubjects: true })
  const found = await planRetention({ ...asked, ledger: opened.ledger })
  if (!found.ok) throw new CliFailure(found.refusal.detail)
  const lines = args.has('json') ? [jsonLine(found.value)] : planLines(found.value)
  process.stdout.write(lines.join(''))
  return EXIT.ok
}

/** Exit code 3 if a run that was due was not archived. Throws `StoreOpenError` if a running ledger owns the store. */
export async function run(args: Arguments): Promise<number> {
  const { settings, has } = args
  const asked = await askedBy(args)
  if (settings.store.kind !== 'sqlite')
    throw usageFailure('archives need a store in a file (SQLite): use export instead')
  await using opened = await openLedger(settings, silentLog)
  const { ledger, store } = opened
  const folder = archivesOf(realpathSync(settings.store.path))
  const found = await runRetention({ ...asked, ledger, store, folder })
  if (!found.ok) throw new CliFailure(found.refusal.detail)
  const { unsound, postponed, refusal } = found.value
  process.stdout.write(has('json') ? jsonLine(found.value) : passLines(found.value).join(''))
  if (refusal !== undefined) throw new CliFailure(refusal.detail)
  // Passes of a served ledger left space, too.
  await store.compact?.()
  return unsound.length + postponed.length > 0 ? EXIT.unproven : EXIT.ok
}

async function askedBy({ settings, text }: Arguments): Promise<Omit<RetentionDeps, 'ledger'>> {
  if (settings.retention === undefined)
    throw usageFailure('--retention is missing: the file with the classes of retention')
  const classes = readRetention(settings.retention)
  const tenant = tenantOf(text('tenant'))
  if ((await readIdentity(settings)) === undefined)
    throw new CliFailure('there is no ledger in this store yet: name the store with --data or --store', EXIT.usage)
  return { caller: { tenant, actor: 'local' }, classes, nowMs: Date.now }
}

function planLines({ due, kept, counts, nextDueAt }: RetentionPlan): string[] {
  const lines = due
    .slice(0, LISTED_MAX)
    .map((each) => `due  ${each.run}  ${each.class}  since ${each.since}  ${each.events} events`)
  if (due.length > LISTED_MAX) lines.push(`... and ${due.length - LISTED_MAX} more`)
  for (const { run: name, why, hold } of kept.slice(0, LISTED_MAX))
    lines.push(`kept  ${name}  ${why}${hold === undefined ? '' : `  ${hold}`}`)
  const counted = Object.entries(counts).map(([what, count]) => `${count} ${what}`)
  lines.push(counted.join(', '))
  if (nextDueAt !== undefined) lines.push(`the next run is due at ${nextDueAt}`)
  return lines.map((line) => `${oneLine(line)}\n`)
}

function passLines({ archives, unsound, postponed, refusal }: RetentionPass): string[] {
  const lines = archives.map(
    ({ archive, runs, events, bytes, isFinished }) =>
      `archived  ${archive}.jsonl  ${runs} runs, ${events} events, ${bytes} bytes${isFinished === true ? '  (begun by an earlier pass)' : ''}`,
  )
  for (const { why } of [...unsound, ...postponed]) lines.push(why)
  if (lines.length === 0 && refusal === undefined) lines.push('nothing is due')
  return lines.map((line) => `${oneLine(line)}\n`)
}
