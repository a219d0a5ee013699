/** @module A long run at a glance: number of events, refusals and failures along the run, and the part that is shown below. */
import { count } from '../format.ts'
import { type RunPlace, runPath } from '../paths.ts'
import type { RunStory } from '../story/story-parts.ts'
import { bucketsOf } from './buckets.ts'

const WIDTH = 1_000
const HEIGHT = 44
const BUCKETS_MAX = 100

interface OverviewProps {
  readonly run: RunPlace
  readonly story: RunStory
  readonly window: { readonly from: number; readonly to: number }
  readonly size: number
}

export function Overview({ run, story, window, size }: OverviewProps) {
  const buckets = bucketsOf(story, { most: BUCKETS_MAX, window: size })
  const most = buckets.reduce((max, { events }) => Math.max(max, events), 1)
  const step = WIDTH / buckets.length
  const x = (revision: number): number => (revision / Math.max(1, story.next)) * WIDTH
  return (
    <svg
      class="overview"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="group"
      aria-label="The whole run"
    >
      <rect
        class="overview-window"
        x={x(window.from)}
        y={0}
        width={Math.max(4, x(window.to + 1) - x(window.from))}
        height={HEIGHT}
      />
      {buckets.map(({ from, to, events, rejected, failed }, index) => {
        const height = Math.max(2, (events / most) * (HEIGHT - 8))
        const label = `Events ${count(from)} to ${count(to)}: ${count(events)} of note, ${count(rejected)} refused, ${count(failed)} failed or not known`
        return (
          <a href={runPath(run, { from })} aria-label={label}>
            <title>{label}</title>
            <rect class="overview-hit" x={index * step} y={0} width={step} height={HEIGHT} />
            <rect
              class="overview-bar"
              x={index * step + 1}
              y={HEIGHT - height}
              width={Math.max(1, step - 2)}
              height={height}
            />
            {failed > 0 && (
              <rect
                class="overview-failed"
                x={index * step + 1}
                y={HEIGHT - 6}
                width={Math.max(1, step - 2)}
                height={6}
              />
            )}
            {rejected > 0 && (
              <rect class="overview-rejected" x={index * step + 1} y={0} width={Math.max(1, step - 2)} height={7} />
            )}
          </a>
        )
      })}
    </svg>
  )
}
