/** @module Waits of runs for signals and times, and the signals that end them. */
import { SignalAnswer, WaitAnswer, WaitedAnswer, WaitsAnswer } from '../../../schemas/answers/waiting.ts'
import { SendSignal, StartWait } from '../../../schemas/waiting.ts'
import { READ_PAYLOADS, SEND_SIGNALS, WRITE_RUNS } from '../../access/access.ts'
import { commandRoute, textMember } from '../command-route.ts'
import { pageRoute } from '../page-route.ts'
import { AsOfQuery } from '../parameters.ts'
import { readItem } from '../read-at.ts'
import { type GuardedRoute, readRoute } from '../route.ts'

const tag = 'waiting'

export const waitRoutes: readonly GuardedRoute[] = [
  commandRoute({
    path: '/v1/runs/{run}/waits',
    summary: 'Wait for a signal, for a time, or for whichever comes first; asked again at the same place, its status',
    tag,
    access: WRITE_RUNS,
    kind: 'wait',
    answer: WaitedAnswer,
    body: StartWait,
    command: (body) => ({ kind: 'wait', body }),
    location: ({ body }, runPath) => `${runPath}/waits/${textMember(body, 'waitId')}`,
  }),
  pageRoute({
    path: '/v1/runs/{run}/waits',
    summary: 'Waits of a run with how they ended, in order of start',
    tag,
    answer: WaitsAnswer,
    access: READ_PAYLOADS,
    ofThePast: true,
    read: (ledger, ...request) => ledger.waits(...request),
  }),
  readRoute({
    path: '/v1/runs/{run}/waits/{wait}',
    summary: 'One wait: what for, until when, how it ended, and with which payload',
    tag,
    answer: WaitAnswer,
    access: READ_PAYLOADS,
    query: AsOfQuery,
    handle: (context) =>
      readItem(context, (at) => context.deps.ledger.wait(context.caller, context.run, context.item, at)),
  }),
  commandRoute({
    path: '/v1/runs/{run}/signals/{signal}',
    summary: 'Send a signal to a run: it ends the oldest wait for it, or is held for one to come',
    tag,
    access: SEND_SIGNALS,
    kind: 'signal',
    answer: SignalAnswer,
    body: SendSignal,
    command: (body, name) => ({ kind: 'signal', name, body }),
    isAccepted: ({ body }) => body.status === 'held',
  }),
]
