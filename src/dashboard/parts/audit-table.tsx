/** @module The answer to a question as a table: each row links to its event, and so to its proof. */
import { TIME_PATTERN } from '../../../schemas/header.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { ROLLBACK_VERDICTS } from '../../../schemas/run-status.ts'
import { count } from '../format.ts'
import { eventPath, refusalPath, runPath } from '../paths.ts'
import { VERDICT_MARKS } from '../verdict-marks.ts'
import { clipped } from '../visible.ts'
import { Badge, Data, Time } from './data.tsx'
import { StatusBadge } from './status-badge.tsx'

const TITLES: Readonly<Record<string, string>> = {
  rejections: 'Refused handoffs',
  'would-refuse': 'Accepted, as the policy only records',
  suspects: 'Handoffs with suspects',
  violations: 'Boundary violations',
  access: 'Who read and exported',
  verifications: 'Verification history',
  keys: 'Use of keys',
}

export function titleOf(name: string): string {
  const plain = name.replaceAll('-', ' ')
  return TITLES[name] ?? plain.charAt(0).toUpperCase() + plain.slice(1)
}

export interface AuditTableProps {
  /** `compensation` is shown in the column `status`. */
  readonly columns: readonly string[]
  readonly items: readonly JsonObject[]
}

export function AuditTable({ columns: all, items }: AuditTableProps) {
  const columns = all.filter((column) => column !== 'compensation' || !all.includes('status'))
  return (
    <div class="table-scroll">
      <table class="listed">
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col">{headOf(column)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr>
              {columns.map((column) => (
                <td {...(hasValue(item[column]) && { 'data-label': headOf(column) })}>
                  <Cell column={column} item={item} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** An empty cell gets no line on a narrow screen. */
const hasValue = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)

function headOf(column: string): string {
  const spaced = column.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
  return spaced.charAt(0).toUpperCase() + spaced.slice(1)
}

function Cell({ column, item }: { readonly column: string; readonly item: JsonObject }) {
  const value = item[column]
  if (value === undefined || value === null) return null
  const { run, revision } = item
  if (column === 'run' && typeof value === 'string')
    return (
      <a href={runPath(value)}>
        <Data text={value} />
      </a>
    )
  if (column === 'revision' && typeof run === 'string' && typeof revision === 'number') {
    const refused = item.type === 'EnvelopeRejected'
    const href = refused ? refusalPath(run, revision) : eventPath(run, revision)
    return (
      <a href={href} {...(refused ? {} : { class: 'event-open' })}>
        {refused ? `see why (event\u00a0${revision})` : `event\u00a0${revision}`}
      </a>
    )
  }
  if (column === 'rewind' && typeof run === 'string') return <Rewind run={run} rewind={value as JsonObject} />
  if (column === 'seal')
    return value === 'invalid' ? <Badge kind="bad" text="broken" /> : <span title={SEAL_CHECKED}>fits</span>
  if (column === 'status' && typeof item.compensation === 'string')
    return (
      <StatusBadge
        status={String(value)}
        compensation={item.compensation}
        seal={item.seal === 'invalid' ? item.seal : undefined}
      />
    )
  if (column === 'verdict' && typeof value === 'string') return <VerdictBadge verdict={value} item={item} />
  if (column === 'snippet') return <Snippet snippet={value as JsonObject} />
  if (typeof value === 'number') return <>{count(value)}</>
  if (typeof value === 'string' && TIME_PATTERN.test(value)) return <Time time={value} />
  return <Data text={clipped(plainText(value), 300)} />
}

/** The match, marked in its context, and the member of the body that contains it. */
function Snippet({ snippet: { path, before, match, after } }: { readonly snippet: JsonObject }) {
  return (
    <span class="snippet">
      <Data text={String(before)} />
      <mark>
        <Data text={String(match)} />
      </mark>
      <Data text={String(after)} />
      <code class="muted sub">
        <Data text={String(path)} />
      </code>
    </span>
  )
}

/** Link to the rewind, which directly follows the refusal. */
function Rewind({
  run,
  rewind: { revision, fromStep, toStep },
}: {
  readonly run: string
  readonly rewind: JsonObject
}) {
  return (
    <a href={eventPath(run, Number(revision))}>
      {fromStep === toStep ? `stayed at step ${Number(toStep)}` : `step ${Number(fromStep)} to step ${Number(toStep)}`}
    </a>
  )
}

const SEAL_CHECKED =
  'The ledger checked it for this page: the mac over the header, and the digest of the body. The links between events are checked by a verification of the run.'

/** A rollback is shown by its verdict: the end of a rollback is not necessarily a success. */
function VerdictBadge({ verdict, item: { detail } }: { readonly verdict: string; readonly item: JsonObject }) {
  const status = typeof detail === 'object' && detail !== null && 'status' in detail ? detail.status : undefined
  const mark = ROLLBACK_VERDICTS.find((each) => verdict === 'run-compensated' && each === status)
  if (mark !== undefined) return <Badge {...VERDICT_MARKS[mark]} />
  return <Badge kind={kindOf(verdict)} text={verdict} />
}

const BAD: ReadonlySet<string> = new Set([
  'rejected',
  'refused',
  'failed',
  'TAMPERED',
  'compensation-failed',
  'overshoot',
  'run-failed',
])
const WARN: ReadonlySet<string> = new Set(['in-doubt', 'expired', 'INCOMPLETE', 'UNVERIFIABLE', 'denied'])
const GOOD: ReadonlySet<string> = new Set([
  ...['accepted', 'succeeded', 'executed', 'completed', 'granted', 'VERIFIED'],
])

/** A started action and an unknown verdict do not count as good. */
function kindOf(verdict: string): string {
  if (BAD.has(verdict)) return 'bad'
  if (WARN.has(verdict)) return 'warn'
  if (verdict === 'compensated') return verdict
  return GOOD.has(verdict) ? 'good' : 'open'
}

/** Readable text: list elements separated by commas, objects member by member. */
function plainText(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(plainText).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value as JsonObject)
    .map(([name, member]) => `${name}: ${plainText(member)}`)
    .join(', ')
}
