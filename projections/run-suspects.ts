/**
 * @module The fold of suspects in a run: a handoff raises them, a later one or a person closes them, and a rollback removes them (JUD-60 to
 * JUD-62).
 */
import type { EventBody } from '../schemas/events.ts'
import type { Finding } from '../schemas/finding.ts'
import type { Header } from '../schemas/header.ts'
import type { Json } from '../schemas/json.ts'
import { parsePointer } from '../schemas/json-pointer.ts'
import { placeKey } from './place-key.ts'
import { personOf } from './run-approvals.ts'
import type { RunState } from './run-state.ts'
import {
  countSuspects,
  SUSPECT_PATH_MAX_CHARS,
  SUSPECT_VALUE_MAX_CHARS,
  SUSPECTS_LISTED_MAX,
  type SuspectState,
} from './suspect-state.ts'

type Accepted = EventBody<'EnvelopeAccepted'>

/** The part of a run that suspects need. */
export type SuspectFold = Pick<RunState, 'suspects' | 'context'>

/** Must run before the context is folded: paths refer to the context that the handoff was judged against. */
export function foldSuspects(state: SuspectFold, data: Accepted, header: Header): void {
  const { revision } = header
  for (const { id, by } of data.suspectsClosed ?? []) close(state, id, { by, revision, step: data.step })
  const raised = suspectFindings(data)
  const total = Math.max(data.suspectsTotal ?? 0, raised.length)
  if (total === 0) return
  const room = roomFor(state, raised.length)
  const of = { step: data.step, revision, eventId: header.id, agent: data.agent, by: personOf(header) }
  const named = raised
    .map((finding, i) => ({ finding, id: `${data.step}.${i + 1}` }))
    .filter(({ finding }) => finding.path.length <= SUSPECT_PATH_MAX_CHARS)
    .slice(0, room)
    .map(({ finding, id }): SuspectState => ({ id, ...of, count: 1, ...placeOf(state, finding) }))
  const rest = total - named.length
  state.suspects.push(...named)
  if (rest > 0) state.suspects.push({ id: `${data.step}.rest`, ...of, count: rest, path: '', place: '' })
}

/** The findings of a handoff that raise suspects, in the order of their numbers. */
export function suspectFindings({ findings = [] }: Pick<Accepted, 'findings'>): readonly Finding[] {
  return findings.filter(({ suspect, severity }) => suspect === true && severity !== 'info')
}

/** Makes room by removing suspects that a person closed, since nothing reopens those. */
function roomFor(state: SuspectFold, wanted: number): number {
  if (state.suspects.length + wanted > SUSPECTS_LISTED_MAX)
    state.suspects = state.suspects.filter(({ closed }) => closed?.by !== 'person')
  return Math.max(0, SUSPECTS_LISTED_MAX - state.suspects.length)
}

function placeOf(
  { context }: SuspectFold,
  { path, rule, before, after }: Finding,
): Pick<SuspectState, 'path' | 'place' | 'rule' | 'before' | 'after'> {
  const tokens = parsePointer(path)
  return {
    path,
    place: tokens === undefined ? '' : placeKey(context, tokens),
    rule,
    ...(isShort(before) && { before }),
    ...(isShort(after) && { after }),
  }
}

function isShort(value: Json | undefined): value is Json {
  return value !== undefined && JSON.stringify(value).length <= SUSPECT_VALUE_MAX_CHARS
}

export function foldReview(state: SuspectFold, { suspects }: EventBody<'SuspectReviewed'>, { revision }: Header): void {
  for (const id of suspects) close(state, id, { by: 'person', revision })
}

function close(state: SuspectFold, id: string, closed: NonNullable<SuspectState['closed']>): void {
  const suspect = state.suspects.find((each) => each.id === id)
  if (suspect !== undefined && suspect.closed === undefined) suspect.closed = closed
}

/** Removes suspects raised by the undone handoffs and reopens those that they closed. */
export function rewindSuspects(state: SuspectFold, toStep: number): void {
  state.suspects = state.suspects
    .filter(({ step }) => step <= toStep)
    .map(({ closed, ...suspect }) =>
      closed === undefined || (closed.step ?? 0) > toStep ? suspect : { ...suspect, closed },
    )
}

/** Number of open suspects, including those not listed individually. */
export function openSuspectsTotal({ suspects }: RunState): number {
  return countSuspects(suspects.filter(({ closed }) => closed === undefined))
}
