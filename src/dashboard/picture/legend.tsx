/** @module The meaning of each sign that occurs in the picture, drawn by the picture's own code. */
import type { Child } from 'hono/jsx'
import type { Mark, MarkKind, Span } from '../story/story-parts.ts'
import { BarShape } from './draw-bar.tsx'
import { MarkShape } from './draw-mark.tsx'
import type { Picture, PlacedBar } from './layout.ts'

/** The type makes a new kind of mark a compile error until it has a text here. */
const MARKS: Readonly<Record<MarkKind, string>> = {
  start: 'start of the run',
  accepted: 'accepted handoff, with its step',
  rejected: 'refused handoff',
  rewind: 'rewind, with an arrow to the step that it restores',
  refused: 'refused request',
  undo: 'rollback begins',
  undone: 'rollback ends',
  fork: 'fork opened',
  offer: 'branch offered',
  branch: 'branch decided on',
  join: 'fork ended',
  completed: 'run completed',
  failed: 'run failed',
  approval: 'approval requested',
  granted: 'approval granted',
  denied: 'approval denied',
  lapsed: 'approval withdrawn or expired',
  wait: 'wait begins',
  woken: 'wait ends',
  signal: 'signal received',
  unheard: 'signal passed over',
  judged: 'judgement of a handoff',
  bounds: 'what an agent may read and write, or what its tools are',
  related: 'another run begun from here',
  resumed: 'taken up by another process',
  left: 'left open by its process',
  withheld: 'value or call left out of the record, or a key disclosed',
  other: 'event of a later release',
}

type BarSign = readonly [words: string, span: Pick<Span, 'phase' | 'status' | 'compensates'>, cutLeft?: boolean]

const BARS: readonly BarSign[] = [
  ['call', { phase: 'tool', status: 'succeeded' }],
  ['model call', { phase: 'model', status: 'succeeded' }],
  ['compensation', { phase: 'tool', status: 'succeeded', compensates: '' }],
  ['failed', { phase: 'tool', status: 'failed' }],
  ['outcome not known', { phase: 'tool', status: 'in-doubt' }],
  ['no outcome yet', { phase: 'tool', status: 'open' }],
  ['undone later', { phase: 'tool', status: 'undone' }],
]

const CUT: BarSign = ['begun before these events', { phase: 'tool', status: 'succeeded' }, true]

interface Sign {
  readonly words: string
  readonly drawn: Child
}

const SIDE_PX = 28
const MIDDLE_PX = SIDE_PX / 2

export function Legend({ picture }: { readonly picture: Picture }) {
  return (
    <ul class="legend" aria-label="Signs of the picture">
      {[...markSigns(picture), ...barSigns(picture), ...lineSigns(picture)].map(({ words, drawn }) => (
        <li>
          <svg width={SIDE_PX} height={SIDE_PX} viewBox={`0 0 ${SIDE_PX} ${SIDE_PX}`} aria-hidden="true">
            {drawn}
          </svg>
          {words}
        </li>
      ))}
    </ul>
  )
}

const at = { x: MIDDLE_PX, y: MIDDLE_PX }

function markSigns({ marks }: Picture): readonly Sign[] {
  const signs = new Map<string, Sign>()
  for (const { mark } of marks) {
    const { kind, cause } = mark
    const bad = REFUSED_ENDS.has(`${kind} ${cause}`)
    const words = bad ? `${MARKS[kind]}: not merged` : MARKS[kind]
    if (!signs.has(words)) signs.set(words, { words, drawn: <MarkSign kind={kind} {...(bad && { cause })} /> })
    if (kind !== 'accepted') continue
    if (mark.findings !== undefined) signs.set('warnings', withDot('handoff with warnings', { findings: 1 }))
    if (mark.supersedes !== undefined)
      signs.set('supersedes', withDot('handoff that supersedes a value, with a reason', { supersedes: 1 }))
  }
  return [...signs.values()]
}

/** Ends of branches and forks that are drawn as refusals. */
const REFUSED_ENDS: ReadonlySet<string> = new Set([
  'branch refused',
  'branch failed',
  'join conflict',
  'join rejected',
  'join none',
])

function MarkSign({ kind, cause }: { readonly kind: MarkKind; readonly cause?: string | undefined }) {
  return (
    <g class={`mark mark-${kind}${cause === undefined ? ' cause-merged' : ` cause-${cause}`}`}>
      <MarkShape {...at} mark={{ kind, ...(kind === 'accepted' && { step: 1 }) }} />
    </g>
  )
}

function withDot(words: string, extra: Pick<Mark, 'findings' | 'supersedes'>): Sign {
  const drawn = (
    <g class="mark mark-accepted">
      <MarkShape {...at} mark={{ kind: 'accepted', ...extra }} />
    </g>
  )
  return { words, drawn }
}

function barSigns({ bars }: Picture): readonly Sign[] {
  const drawnAs = new Set(bars.map(({ span }) => barWords(span)))
  const cut = bars.some(({ cutLeft }) => cutLeft) ? [CUT] : []
  return [...BARS.filter(([words]) => drawnAs.has(words)), ...cut].map(([words, span, cutLeft = false]) => ({
    words,
    drawn: <BarShape x={2} y={MIDDLE_PX - 4} width={SIDE_PX - 4} span={span} cutLeft={cutLeft} cutRight={false} />,
  }))
}

/** The text for a bar's appearance: its outcome unless it simply succeeded, otherwise its kind. */
function barWords({ status, phase, compensates }: PlacedBar['span']): string {
  const outcome = BARS.find(([, span]) => span.status === status && status !== 'succeeded')
  if (outcome !== undefined) return outcome[0]
  if (compensates !== undefined) return 'compensation'
  return phase === 'model' ? 'model call' : 'call'
}

function lineSigns({ handoffs, undos, forks, budget }: Picture): readonly Sign[] {
  const line = (kind: string, words: string) => ({
    words,
    drawn: <path class={kind} d={`M1 ${MIDDLE_PX}H${SIDE_PX - 1}`} />,
  })
  const left = budget?.kind === 'left'
  return [
    ...(handoffs.length > 0 ? [line('handoff', 'from one handoff to the next')] : []),
    ...(forks.some(({ merged }) => merged) ? [line('fork-line', 'to a branch, and back from it')] : []),
    ...(forks.some(({ merged }) => !merged) ? [line('fork-line fork-lost', 'to a branch that was not merged')] : []),
    ...(undos.length > 0 ? [line('undo', 'from a compensation to what it undoes')] : []),
    ...(budget === undefined ? [] : [line('budget-line', left ? 'budget left' : 'spent')]),
    ...(budget === undefined
      ? []
      : [line('budget-reserved', left ? 'budget left less what is reserved' : 'spent and reserved')]),
  ]
}
