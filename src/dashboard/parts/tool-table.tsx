/** @module The calls of a run by tool, with their durations. */
import { count, lasted } from '../format.ts'
import { eventPath, type RunPlace } from '../paths.ts'
import type { RunStory } from '../story/story-parts.ts'
import { type ToolTimes, toolTimes } from '../story/tool-times.ts'
import { Badge, Data } from './data.tsx'

/** Limit for a run with thousands of tool names; its events have all. */
const TOOLS_SHOWN = 50

export function ToolTable({ run, story }: { readonly run: RunPlace; readonly story: RunStory }) {
  const tools = toolTimes(story.spans)
  if (tools.length === 0) return null
  return (
    <section aria-labelledby="tools-title">
      <h2 id="tools-title">Calls by tool</h2>
      <div class="table-scroll">
        <table class="listed tools">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">What became of them</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Median
              </th>
              <th scope="col" class="number">
                Longest
              </th>
            </tr>
          </thead>
          <tbody>
            {tools.slice(0, TOOLS_SHOWN).map((tool) => (
              <Row run={run} tool={tool} />
            ))}
          </tbody>
        </table>
      </div>
      {tools.length > TOOLS_SHOWN && <p class="muted">and {count(tools.length - TOOLS_SHOWN)} more</p>}
    </section>
  )
}

function Row({ run, tool: { tool, calls, medianMs, longest, ...became } }: { run: RunPlace; tool: ToolTimes }) {
  return (
    <tr>
      <th scope="row">
        <Data text={tool} />
      </th>
      <td data-label="Became">
        <Became calls={calls} {...became} />
      </td>
      <td class="number" data-label="Calls">
        {count(calls)}
      </td>
      <td class="number" data-label="Median">
        {medianMs === undefined ? <span class="muted">not known</span> : lasted(medianMs)}
      </td>
      <td class="number" data-label="Longest">
        {longest === undefined ? (
          <span class="muted">not known</span>
        ) : (
          <a href={eventPath(run, longest.revision)}>{lasted(longest.ms)}</a>
        )}
      </td>
    </tr>
  )
}

function Became({ calls, failed, inDoubt, undone, open }: Omit<ToolTimes, 'tool' | 'medianMs' | 'longest'>) {
  const succeeded = calls - failed - inDoubt - undone - open
  const parts = [
    ['good', 'succeeded', succeeded],
    ['bad', 'failed', failed],
    ['warn', 'in doubt', inDoubt],
    ['compensated', 'undone', undone],
    ['open', 'open', open],
  ] as const
  return (
    <>
      {parts
        .filter(([, , number]) => number > 0)
        .map(([kind, text, number]) => (
          <>
            <Badge kind={kind} text={`${count(number)} ${text}`} />{' '}
          </>
        ))}
    </>
  )
}
