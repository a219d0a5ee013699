/** @module Bodies of forks, in each of the shapes that mean something else (`every-event.ts`). */
import { createHash } from 'node:crypto'
import type { EventBody, EventType } from '../../schemas/events.ts'

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
const uuid = (n: number): string => `01890a5d-ac96-774b-8cce-${String(n).padStart(12, '0')}`
const fork = { v: 1 as const, forkId: uuid(70) }

type Joined = EventBody<'ForkJoined'>

const received = (
  status: EventBody<'BranchReceived'>['status'],
  more: Partial<EventBody<'BranchReceived'>> = {},
): EventBody<'BranchReceived'> => ({ ...fork, branch: 'left', agent: 'ann', status, ...more })

const joined = (outcome: Joined['outcome'], more: Partial<Joined> = {}): Joined => ({
  ...fork,
  join: 'union',
  outcome,
  winners: outcome === 'joined' ? ['left'] : [],
  order: ['left'],
  receipts: [
    { branch: 'left', agent: 'ann', status: 'merged', output: digest('output'), receipt: digest('receipt left') },
  ],
  receipt: digest('receipt'),
  ...more,
})

export const FORK_BODIES = {
  ForkStarted: [
    {
      ...fork,
      agent: 'ann',
      step: 1,
      context: digest('context 1'),
      parent: digest('parent'),
      branches: [
        { name: 'left', agent: 'ann', scope: 'fork:left' },
        { name: 'right', agent: 'bob', scope: 'fork:right' },
      ],
      join: 'union',
      onDiscard: 'compensate',
      requestDigest: digest('fork'),
    },
  ],
  BranchOffered: [
    {
      ...fork,
      branch: 'left',
      agent: 'ann',
      report: digest('report'),
      tokens: 9,
      confidence: 1,
      score: 0.5,
      payload: { facts: { hill: 'Gurten' } },
      add: { constraints: ['on foot'] },
      rules: 2,
      output: digest('output'),
    },
  ],
  BranchReceived: [
    received('merged', { output: digest('output') }),
    received('discarded'),
    received('aborted', { error: { message: 'too late' } }),
    received('failed', { report: digest('failed'), tokens: 3, error: { message: 'broke', code: 'EBROKE' } }),
    received('refused', {
      report: digest('refused'),
      confidence: 0,
      payload: { facts: {} },
      add: { facts: { river: 'Aare' } },
      rules: 2,
      findings: [
        { rule: 'manifest-violation', severity: 'error', path: '/facts', message: '/facts is not its own to write' },
      ],
      findingsTotal: 1,
    }),
  ],
  ForkJoined: [
    joined('joined'),
    joined('none'),
    joined('conflict', {
      conflicts: [
        {
          path: '/facts/hill',
          ours: { branch: 'left', value: 'Gurten' },
          theirs: { branch: 'right', value: 'Bantiger' },
        },
      ],
      conflictsTotal: 1,
    }),
    joined('rejected', {
      findings: [{ rule: 'contradicted', severity: 'error', path: '/facts', message: 'was another' }],
      findingsTotal: 1,
    }),
  ],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }
