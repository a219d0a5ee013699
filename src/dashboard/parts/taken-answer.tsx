/**
 * @module What a page answers, in words, and its downloads: question, filters, period, as-of, who asked and when. Printed with the page, and
 * shown with an empty answer too (HTTP-76). The downloads are the signed answers of the API, as of the same size of the log.
 */
import { EXPORT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { AUDIT_QUERIES, type AuditQueryName, followsFromLog } from '../../ledger/audit/audit-queries.ts'
import { SERVICE_QUERIES, type ServiceQueryName } from '../../ledger/audit/service-queries.ts'
import { plural } from '../format.ts'
import type { View } from '../page.ts'
import { downloadPath, withQuery } from '../paths.ts'
import { Actor, Data, Time } from './data.tsx'
import { Fact } from './fact.tsx'

/** One answer of the API that holds rows of the page. */
export interface Taken {
  readonly name: AuditQueryName | ServiceQueryName
  /** Label, if the page has several; otherwise its title says it. */
  readonly label?: string
  /** Filters and other inputs as the API takes them, with times in UTC. */
  readonly params?: Readonly<Record<string, unknown>>
}

export interface TakenAnswerProps {
  readonly view: Pick<View, 'caller' | 'deps'>
  /** The question in words, as a heading has it. */
  readonly question: string
  readonly answers: readonly Taken[]
  /** Filters in words; the period is named apart. */
  readonly filters?: Readonly<Record<string, unknown>>
  /** Period in UTC. */
  readonly period?: { readonly since?: string | undefined; readonly until?: string | undefined }
  /** Size of the log that the page answers as of; absent for a page of the present. */
  readonly treeSize?: number | undefined
}

export function TakenAnswer({ view, question, answers, filters = {}, period, treeSize }: TakenAnswerProps) {
  const { caller, deps } = view
  const said = Object.entries(filters).filter(([, value]) => value !== undefined)
  return (
    <section class="card taken" aria-labelledby="taken-title">
      <h2 id="taken-title">This answer</h2>
      <dl class="facts">
        <Fact label="Question">{question}</Fact>
        <Fact label="Filters">
          {said.length === 0 ? 'none' : <Data text={said.map(([name, value]) => `${name}: ${value}`).join('; ')} />}
        </Fact>
        <Fact label="Period">{periodText(period)}</Fact>
        <Fact label="As of">
          {treeSize === undefined ? 'the time below' : `${plural(treeSize, 'event')} of the log`}
        </Fact>
        <Fact label="Asked by">
          <Actor actor={caller.actor} {...(caller.principal !== undefined && { principal: caller.principal })} />
        </Fact>
        <Fact label="Asked at (UTC)">
          <Time time={new Date(deps.now()).toISOString()} />
        </Fact>
      </dl>
      {mayOpen(EXPORT, caller) ? (
        <ul class="formats taken-downloads">
          {answers.map((answer) => (
            <li>
              {answer.label ?? 'Download every row'}: <Formats answer={answer} treeSize={treeSize} />
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">Downloads need a token with the scope audit:export.</p>
      )}
    </section>
  )
}

function periodText({ since, until }: NonNullable<TakenAnswerProps['period']> = {}): string {
  if (since === undefined && until === undefined) return 'any time'
  return [since && `since ${since}`, until && `before ${until}`].filter(Boolean).join(', ')
}

const FORMATS = [
  ['csv', 'CSV'],
  ['jsonl', 'JSONL'],
  ['bundle', 'Evidence bundle'],
] as const

function Formats({ answer, treeSize }: { readonly answer: Taken; readonly treeSize: number | undefined }) {
  return (
    <>
      {FORMATS.filter(([format]) => format !== 'bundle' || isProvable(answer.name)).map(([format, label], index) => (
        <>
          {index > 0 && ' · '}
          <a href={answerPath(answer, treeSize, format)} download>
            {label}
          </a>
        </>
      ))}
    </>
  )
}

function isProvable(name: Taken['name']): boolean {
  return !isService(name) && followsFromLog(AUDIT_QUERIES[name].shape)
}

const isService = (name: Taken['name']): name is ServiceQueryName => Object.hasOwn(SERVICE_QUERIES, name)

function answerPath({ name, params = {} }: Taken, treeSize: number | undefined, format: string): string {
  const inputs = Object.entries(params).map(([member, value]) => [
    member,
    value === undefined ? undefined : String(value),
  ])
  // An empty log has no size that could be asked for.
  const asOf = isService(name) || treeSize === 0 ? undefined : treeSize
  return downloadPath(withQuery(`answers/${name}`, { ...Object.fromEntries(inputs), asOf, format }))
}
