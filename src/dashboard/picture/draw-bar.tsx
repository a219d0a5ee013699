/** @module A call as a bar with its name above it, linked to its claim. */
import { eventPath, type RunPlace } from '../paths.ts'
import { visibleText } from '../visible.ts'
import { ClippedText } from './clipped-text.tsx'
import { barLabel } from './labels.ts'
import { BAR_LABEL_PX, BAR_PX, type PlacedBar } from './layout.ts'

export function Bar({ run, bar }: { readonly run: RunPlace; readonly bar: PlacedBar }) {
  const { y, label, span } = bar
  const words = barLabel(span)
  const kind = span.status === 'undone' ? 'undone' : 'bar'
  return (
    <a class="item" href={eventPath(run, span.from)} aria-label={words} data-revision={span.from}>
      <title>{words}</title>
      <BarShape {...bar} y={y + BAR_LABEL_PX} />
      <ClippedText {...label} y={y} height={BAR_LABEL_PX} text={visibleText(span.tool)} kind={kind} />
    </a>
  )
}

export type BarShapeProps = Pick<PlacedBar, 'x' | 'y' | 'width' | 'cutLeft' | 'cutRight'> & {
  readonly span: Pick<PlacedBar['span'], 'phase' | 'status' | 'compensates' | 'to'>
}

export function BarShape({ x, y, width, span, cutLeft, cutRight }: BarShapeProps) {
  const kind = span.compensates === undefined ? span.phase : 'compensation'
  return (
    <>
      <rect class={`bar bar-${kind} bar-${span.status}`} x={x} y={y} width={width} height={BAR_PX} rx={3} />
      {span.status === 'undone' && (
        <line class="struck" x1={x} y1={y + BAR_PX / 2} x2={x + width} y2={y + BAR_PX / 2} />
      )}
      {cutLeft && <path class="cut" d={`M${x + 1} ${y}v${BAR_PX}`} />}
      {cutRight && span.to === undefined && <path class="open-end" d={`M${x + width - 1} ${y}v${BAR_PX}`} />}
    </>
  )
}
