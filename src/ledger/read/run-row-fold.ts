/** @module Folds the row of a run in the run list from the records of its stream, and renders it for answers. */

import type { RecordedEvent } from '../../../projections/projection.ts'
import {
  carriedUntilOf,
  dueAtOf,
  endsCall,
  evolveRunRow,
  isInRow,
  leasesOf,
  openCallsOf,
  type RunRowState,
} from '../../../projections/run-row.ts'
import { isRunEventType, type RunEventType } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { DEADLINE_GRACE_MS } from '../../domain/decision.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { RunRow } from '../../store/view-store.ts'
import { decodeRecord, isOfItsType } from './parse-record.ts'

export type FoldRecord = (state: RunRowState | undefined, record: ReadRecord) => RunRowState | undefined

/** The list is no proof: records are folded without verification, and broken ones are skipped. */
export function foldRecord(state: RunRowState | undefined, record: ReadRecord): RunRowState | undefined {
  try {
    const header = parseJson(record.header) as Header
    if (!isRunEventType(header.type) || !isInPlace(header, record)) return state
    const data = bodyOf(header.type, record.data)
    return evolveRunRow(state, { type: header.type, data, header } as RecordedEvent)
  } catch {
    return state
  }
}

/** A record stored in a different place than its own header states would set the row back. */
const isInPlace = ({ stream, revision }: Header, record: ReadRecord): boolean =>
  stream === record.stream && revision === record.revision

/** Folds a record with arbitrary content: one that does not match the schema of its type is skipped. */
export function foldFitting(state: RunRowState | undefined, record: ReadRecord): RunRowState | undefined {
  const { header, data } = decodeRecord(record)
  return isOfItsType(header.type, data) ? foldRecord(state, record) : state
}

const CALL_ID = /^\{"callId":"([0-9a-f-]{36})"/

/** The part of the body that a row needs. Bodies are canonical JSON: the id of a call that ended comes first, so its outcome need not be parsed. */
function bodyOf(type: RunEventType, text: string): unknown {
  const callId = endsCall(type) ? CALL_ID.exec(text)?.[1] : undefined
  if (callId !== undefined) return { callId }
  return isInRow(type) ? parseJson(text) : {}
}

export function rowOf(tenant: string, runId: string, state: RunRowState): RunRow {
  const { name, status, tags, actor, startedAt, updatedAt, revision, step, rejections, calls, budget } = state
  const approvals = status === 'open' ? Object.keys(state.approvals).length : 0
  const waits = status === 'open' ? Object.keys(state.waits).length : 0
  const { fence, version, stuck } = state.due
  const [dueAt, carriedUntil] = [dueAtOf(state), carriedUntilOf(state)]
  return {
    tenant,
    runId,
    name,
    status,
    tags,
    agents: Object.keys(budget.agents).map((agent) => agent.slice(1)),
    actor,
    ...(state.principal === undefined ? {} : { principal: state.principal }),
    startedAt,
    updatedAt,
    revision,
    step,
    rejections,
    calls,
    waiting: approvals + waits,
    approvals,
    suspects: status === 'open' && state.suspect === true,
    openCalls: openCallsOf(state),
    ...leasesOf(state),
    fence,
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(carriedUntil === undefined ? {} : { carriedUntil }),
    ...(version === undefined ? {} : { version }),
    ...(stuck === undefined || status !== 'open' ? {} : { stuck }),
    ...(state.compensation === undefined ? {} : { compensation: state.compensation }),
    tokens: budget.spend.tokens,
    cost: budget.spend.cost,
    ...(budget.currency === undefined ? {} : { currency: budget.currency }),
    fold: JSON.stringify(state),
  }
}

/** `overdue`: the lease of a call has expired by the wall clock, but no event has recorded that yet (STR-2). */
export function rowBody(
  { tenant: _, fold: __, suspects: ___, carriedUntil: ____, leaseUntil, ...row }: RunRow,
  leaseOverAt: string,
): JsonObject {
  const { stuck, ...shown } = row
  const isOverdue = leaseUntil !== undefined && leaseUntil < leaseOverAt
  return {
    ...shown,
    ...(stuck !== undefined && { stuck: { ...stuck } }),
    ...(leaseUntil !== undefined && { leaseUntil }),
    ...(isOverdue && { overdue: true }),
  }
}

/** Leases that ended before this time have expired at `ms`; RFC 3339, UTC. */
export const leaseOverBefore = (ms: number): string => new Date(ms - DEADLINE_GRACE_MS).toISOString()
