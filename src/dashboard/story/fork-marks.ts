/** @module Forks as marks: their start, the report of each branch, and the join. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { Mark } from './story-parts.ts'

export type ForkEvent = Extract<
  RecordedEvent,
  { type: 'ForkStarted' | 'BranchOffered' | 'BranchReceived' | 'ForkJoined' }
>

export function forkMark(event: ForkEvent): Mark {
  const { type, revision, time } = event.header
  const place = { type, revision, time, fork: event.data.forkId }
  switch (event.type) {
    case 'ForkStarted': {
      const { agent, branches, join } = event.data
      return { ...place, kind: 'fork', lane: agent, text: `${branches.length} branches, ${join}` }
    }
    case 'BranchOffered':
      return { ...place, kind: 'offer', lane: event.data.agent, branches: [event.data.branch], text: event.data.branch }
    case 'BranchReceived': {
      const { agent, branch, status } = event.data
      return { ...place, kind: 'branch', lane: agent, branches: [branch], text: `${branch} ${status}`, cause: status }
    }
    case 'ForkJoined': {
      const { outcome, winners } = event.data
      const text = winners.length === 0 ? outcome : `${outcome} from ${winners.join(', ')}`
      return { ...place, kind: 'join', lane: '', branches: winners, text, cause: outcome }
    }
  }
}
