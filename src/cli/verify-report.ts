/** @module The output of `verify`: one line per fault as it is found, and one verdict at the end; or one JSON object. */
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import { UUID_PATTERN } from '../../schemas/header.ts'
import type { Chain } from '../verify/export-chain.ts'
import type { Completeness } from '../verify/export-completeness.ts'
import { type Verdict, type VerifyFault, verdictOf } from '../verify/fault.ts'
import type { VerifyResult } from '../verify/verify-records.ts'
import { jsonLine, oneLine } from './shown.ts'
import { type Paint, painter, VERDICT_COLOURS } from './terminal.ts'

/** Faults beyond this number are only counted: one broken page may contain thousands. */
const LINES_MAX = 100
const JSON_FAULTS_MAX = 1_000
const MS_PER_SECOND = 1_000

export interface Summary {
  /** The source as named by the user. */
  readonly source: string
  readonly result: VerifyResult
  readonly elapsedMs: number
  readonly trailer?: ExportTrailer | undefined
  readonly completeness?: Completeness | undefined
  /** Origin of the keys that the MACs were checked with. */
  readonly keys?: string
  /** A note about an existing key file that was not trusted. */
  readonly unused?: string
}

export interface Report {
  readonly fault: (fault: VerifyFault) => void
  readonly finish: (summary: Summary) => void
}

export function createReport(json: boolean, clearLine: () => void): Report {
  return json ? jsonReport() : textReport(painter(process.stdout), clearLine)
}

function jsonReport(): Report {
  const faults: object[] = []
  return {
    fault: (fault) => {
      if (faults.length < JSON_FAULTS_MAX) faults.push({ verdict: verdictOf(fault.code), ...fault })
    },
    finish: ({ source, result, elapsedMs, trailer, completeness, keys, unused }) => {
      const { faults: faultsTotal, ...rest } = result
      const summary = {
        source,
        ...rest,
        elapsedMs: Math.round(elapsedMs),
        ...(keys !== undefined && { keys }),
        ...(unused !== undefined && { note: unused }),
        ...(trailer && { trailer }),
        ...(completeness && { completeness: { proven: completeness.proven, statement: completeness.statement } }),
        faultsTotal,
        faults,
      }
      process.stdout.write(jsonLine(summary))
    },
  }
}

function textReport(paint: Paint, clearLine: () => void): Report {
  let shown = 0
  return {
    fault: (fault) => {
      shown += 1
      if (shown > LINES_MAX) return
      clearLine()
      process.stdout.write(`${faultLine(fault, paint)}\n`)
    },
    finish: (summary) => {
      if (shown > LINES_MAX)
        process.stdout.write(`... and ${shown - LINES_MAX} more (--json lists up to ${JSON_FAULTS_MAX})\n`)
      process.stdout.write(`${summaryLines(summary, paint).join('\n')}\n`)
    },
  }
}

/** For example `TAMPERED  run-acme.hello @ 3  mac  the mac does not fit the header`. Names come from the file, so they are escaped and shown on one line. */
function faultLine({ code, message, stream, revision, position }: VerifyFault, paint: Paint): string {
  const verdict = verdictOf(code)
  const place = stream === undefined ? undefined : `${stream}${revision === undefined ? '' : ` @ ${revision}`}`
  const where = [place, position === undefined ? undefined : `position ${position}`].filter(
    (part) => part !== undefined,
  )
  const parts = [where.length === 0 ? undefined : oneLine(where.join(', ')), code, oneLine(message)]
  return [paint(verdict, VERDICT_COLOURS[verdict]), ...parts.filter((part) => part !== undefined)].join('  ')
}

function summaryLines(summary: Summary, paint: Paint): readonly string[] {
  const { result, elapsedMs } = summary
  const { verdict, events, streams, faults, behindClock, erased = 0, unchecked } = result
  const rate = elapsedMs > 0 ? Math.round((events * MS_PER_SECOND) / elapsedMs) : events
  const found = faults === 0 ? '' : `${plural(faults, 'fault')} in `
  const counts = `${found}${plural(events, 'event')} of ${plural(streams, 'stream')}`
  return [
    `${paint(verdict, VERDICT_COLOURS[verdict])}${erased === 0 ? '' : `, ${erased} erased`}  ${counts} (${rate.toLocaleString('en')} events/s)`,
    ...exportLines(summary),
    ...(behindClock === 0
      ? []
      : [`${plural(behindClock, 'event')} written while the clock was behind; each keeps its reading`]),
    ...archiveLines(result),
    ...valueLines(result),
    ...(result.putBack === undefined
      ? []
      : [`${plural(result.putBack, 'event')} acknowledged as lost, and there again`]),
    ...unchecked.map((what) => oneLine(`not checked: ${what}`)),
    ...(summary.keys === undefined ? [] : [oneLine(`keys: ${summary.keys}`)]),
    ...(summary.unused === undefined ? [] : [oneLine(`note: ${summary.unused}`)]),
  ]
}

function archiveLines({ archived = [] }: VerifyResult): readonly string[] {
  return archived.map(({ archive, events }) => oneLine(`${plural(events, 'event')} archived to ${archive}.jsonl`))
}

function valueLines({ values }: VerifyResult): readonly string[] {
  if (values === undefined) return []
  const unnamed = values.unnamed === 0 ? '' : `; ${values.unnamed} of them named by no event, as a crash leaves them`
  return [`${plural(values.whole, 'large value')} beside the events${unnamed}`]
}

/** For an export: its scope, and its completeness if nothing else is wrong. */
function exportLines({ trailer, completeness, result }: Summary): readonly string[] {
  if (trailer === undefined) return []
  const { run, tenant, filter, asOf, from, to } = trailer
  const query = filter === undefined ? '' : `, the answer to ${JSON.stringify(filter)}`
  const what = `export of ${run === null ? `tenant ${tenant}` : `run ${run} of ${tenant}`}${query}${from === undefined ? '' : `, from leaf ${from} to size ${to}`}, taken ${asOf === null ? 'of an empty log, or without one' : `up to ${UUID_PATTERN.test(asOf) ? 'event' : 'position'} ${asOf}`}`
  const sound = completeness?.proven === true && (result.verdict === 'VERIFIED' || result.verdict === 'UNVERIFIABLE')
  return sound ? [oneLine(what), oneLine(`complete: ${completeness.statement}`)] : [oneLine(what)]
}

export interface ChainSummary {
  readonly chain: Chain | undefined
  readonly verdict: Verdict
  /** Number of files named. */
  readonly parts: number
}

/** For several parts: how they fit together, printed last. */
export function printChain({ chain, verdict, parts }: ChainSummary, json: boolean): void {
  if (json) {
    const { faults = [], ...covered } = chain ?? {}
    const named = faults.map((fault) => ({ verdict: verdictOf(fault.code), ...fault }))
    process.stdout.write(jsonLine({ verdict, parts, chain: chain === undefined ? null : covered, faults: named }))
    return
  }
  const paint = painter(process.stdout)
  const word = paint(verdict, VERDICT_COLOURS[verdict])
  for (const fault of chain?.faults ?? []) process.stdout.write(`${faultLine(fault, paint)}\n`)
  process.stdout.write(`${word}  ${oneLine(chainText(chain, parts))}\n`)
}

function chainText(chain: Chain | undefined, parts: number): string {
  if (chain === undefined) return `${plural(parts, 'file')}, and none of them is a part of a log`
  const { tenant, from, to, root, faults } = chain
  const what = from === to ? `no leaf behind the first ${to}` : `leaves ${from} to ${to - 1}`
  const whole = faults.length === 0 ? ', none missing between them and none there twice' : ', which do not join'
  return `${plural(parts, 'part')} of the log of ${tenant}: ${what}${whole}; go on from ${to}, root ${root}`
}

function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}
