/** @module Pages of the long lists in the state of a run: reservations and forks. Their order is not changed by later entries. */
import type { RunState } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { weigh } from '../../resources/memory-budget.ts'
import { forkSummary } from '../responses/fork-responses.ts'
import { budgetBody } from '../responses/responses.ts'
import type { ReservationsPage } from '../run-at.ts'
import { unslotted } from './run-bodies.ts'

/** Default number of reservations per page. */
export const RESERVATIONS_DEFAULT = 100
/** A page ends with the fork that reaches this size. */
const PAGE_MAX_BYTES = 4 * 1024 * 1024

/** All totals and limits, and a page of reservations ordered by id, which increases with time; `next` is present if there are more. */
export function budgetPage(state: RunState, { after = '', limit }: ReservationsPage): JsonObject {
  const behind = Object.values(state.reservations).filter(({ reservationId }) => reservationId > after)
  const sorted = behind.sort((a, b) => (a.reservationId < b.reservationId ? -1 : 1))
  const shown = sorted.slice(0, limit)
  const last = shown.at(-1)
  return {
    ...budgetBody(state),
    agents: unslotted(state.spendByAgent, (spend) => ({ ...spend })),
    agentLimits: (state.limits.agents ?? {}) as JsonObject,
    reservations: shown.map((each) => ({ ...each }) as JsonObject),
    ...(sorted.length > shown.length && last !== undefined && { next: last.reservationId }),
  }
}

/** Oldest first; `after` is the revision of the start of a fork. */
export function forksPage(
  state: RunState,
  { after, limit }: { readonly after: number; readonly limit: number },
): JsonObject {
  const sorted = Object.values(state.forks)
    .filter(({ revision }) => revision > after)
    .sort((a, b) => a.revision - b.revision)
  const items: JsonObject[] = []
  let bytes = 0
  for (const fork of sorted) {
    if (items.length >= limit || bytes >= PAGE_MAX_BYTES) break
    const item = forkSummary(fork)
    bytes += weigh(item)
    items.push(item)
  }
  const last = sorted[items.length - 1]
  return { items, ...(sorted.length > items.length && last !== undefined && { next: last.revision }) }
}
