/** @module The commands of a run, and the route of each. */
import type { BatchItem, Command } from '../../schemas/commands.ts'

export type { BatchItem, Command }

/** Paths below `/v1/runs/{run}`; `*` is replaced by the id of the call, reservation, approval or fork, or by the name of the signal. */
const PATHS: Readonly<Record<Exclude<Command['kind'], 'start'>, string>> = {
  envelope: 'envelopes',
  judgement: 'judgements',
  review: 'suspects',
  rollback: 'rollback',
  manifest: 'manifests',
  claim: 'calls',
  settle: 'calls/*/settle',
  renew: 'calls/*/renew',
  resolve: 'calls/*/resolve',
  grant: 'approvals/*/grant',
  deny: 'approvals/*/deny',
  withdraw: 'approvals/*/withdraw',
  wait: 'waits',
  signal: 'signals/*',
  compensate: 'compensations',
  reserve: 'reservations',
  'settle-reservation': 'reservations/*/settle',
  release: 'reservations/*/release',
  usage: 'usage',
  fork: 'forks',
  branch: 'forks/*/branches',
  join: 'forks/*/join',
  capture: 'captures',
  leave: 'leave',
  carry: 'carry',
  complete: 'complete',
  fail: 'fail',
}

export function runPath(runId: string): string {
  return `/v1/runs/${pathSegment(runId)}`
}

/** Throws `TypeError` for anything but well-formed text, which would otherwise be an id of its own, as `undefined` is. */
export function pathSegment(id: string): string {
  if (typeof id !== 'string' || !id.isWellFormed()) throw new TypeError(`an id or a name is a text, not ${String(id)}`)
  return encodeURIComponent(id)
}

export function commandPath(runId: string, command: Command): string {
  if (command.kind === 'start') return '/v1/runs'
  return `${runPath(runId)}/${PATHS[command.kind].replace('*', () => pathSegment(itemOf(command)))}`
}

/** Converts an item to the form that `POST /v1/batch` takes. */
export function batchItem({ runId, command, traceparent }: BatchItem): object {
  return {
    run: runId,
    op: command.kind,
    ...('callId' in command && { call: command.callId }),
    ...('reservationId' in command && { reservation: command.reservationId }),
    ...('approvalId' in command && { approval: command.approvalId }),
    ...('forkId' in command && { fork: command.forkId }),
    ...(command.kind === 'signal' && { signal: command.name }),
    ...(traceparent !== undefined && { traceparent }),
    body: command.body,
  }
}

function itemOf(command: Command): string {
  if ('callId' in command) return command.callId
  if ('reservationId' in command) return command.reservationId
  if ('approvalId' in command) return command.approvalId
  if (command.kind === 'signal') return command.name
  return 'forkId' in command ? command.forkId : ''
}
