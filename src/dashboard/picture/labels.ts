/** @module Text labels of marks and bars, for tooltips and screen readers. */
import { declarationOf } from '../../../schemas/events.ts'
import { duration, money, plural } from '../format.ts'
import type { Mark, Span } from '../story/story-parts.ts'
import { verdictWords } from '../verdict-marks.ts'
import { clipped, visibleText } from '../visible.ts'

const TEXT_CHARS = 160

export function markLabel(mark: Mark, currency: string | undefined): string {
  return `${sentence(mark, currency)} (event ${mark.revision}, ${mark.time.slice(11, 19)})`
}

function sentence(mark: Mark, currency: string | undefined): string {
  const who = mark.lane === '' ? 'the run' : visibleText(mark.lane)
  const text = mark.text === undefined ? '' : `: ${clipped(visibleText(mark.text), TEXT_CHARS)}`
  switch (mark.kind) {
    case 'start':
      return `Run started${text}`
    case 'accepted': {
      const more = mark.findings === undefined ? '' : `, ${plural(mark.findings, 'warning')}`
      const changed =
        mark.supersedes === undefined ? '' : `, supersedes ${plural(mark.supersedes, 'value')} with a reason`
      return `Handoff of ${who} accepted as step ${mark.step}${more}${changed}${spent(mark, currency)}`
    }
    case 'rejected':
      return `Handoff of ${who} refused with ${plural(mark.findings ?? 0, 'finding')}${spent(mark, currency)}`
    case 'rewind':
      return `Rewound from step ${mark.fromStep} to step ${mark.step} (${mark.cause})${text}`
    case 'refused':
      return `Request refused${text}`
    case 'undo':
      return `Rollback started${text}`
    case 'undone':
      return `Rollback ended: ${verdictWords(mark.text ?? '')}`
    case 'fork':
      return `Fork opened by ${who}${text}`
    case 'offer':
      return `Branch offered by ${who}${text}`
    case 'branch':
      return `Branch of ${who}${text}`
    case 'join':
      return `Fork joined${text}`
    case 'completed':
      return 'Run completed'
    case 'failed':
      return `Run failed${text}`
    default:
      return `${words(mark.type)}${text}`
  }
}

/** The label of a type; for an unknown type, its name split into words. */
export function words(type: string): string {
  const spaced = type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
  return declarationOf(type)?.label ?? spaced.charAt(0).toUpperCase() + spaced.slice(1)
}

function spent({ tokens = 0, cost = '0' }: Mark, currency: string | undefined): string {
  const parts = [...(tokens === 0 ? [] : [plural(tokens, 'token')]), ...(cost === '0' ? [] : [money(cost, currency)])]
  return parts.length === 0 ? '' : `; spent since the handoff before: ${parts.join(', ')}`
}

const STATUS: Readonly<Record<Span['status'], string>> = {
  open: 'no outcome yet',
  succeeded: 'succeeded',
  failed: 'failed',
  'in-doubt': 'outcome not known',
  undone: 'succeeded, and undone later',
}

export function barLabel(span: Span): string {
  const what = span.compensates === undefined ? 'Call' : 'Compensation'
  const took = span.toTime === undefined ? '' : `, ${duration(span.fromTime, span.toTime)}`
  const attempt = span.attempt > 1 ? `, attempt ${span.attempt}` : ''
  // The whole name: it is also the visible label of the bar, which the accessible name must contain (WCAG 2.5.3).
  return `${what} ${visibleText(span.tool)}: ${STATUS[span.status]}${took}${attempt} (event ${span.from})`
}
