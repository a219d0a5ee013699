/** @module A period: fields for its start, end and zone, and links for common periods. Works without scripts. */
import { withQuery } from '../paths.ts'
import { Chips } from './chips.tsx'
import { TextField } from './text-field.tsx'

export interface PeriodFieldsProps {
  readonly since: string | undefined
  readonly until: string | undefined
  readonly zone: string | undefined
  readonly sinceLabel?: string
}

/** `assets/zones.ts` adds the browser's zone. */
export function PeriodFields({ since, until, zone, sinceLabel = 'Since' }: PeriodFieldsProps) {
  return (
    <>
      <TextField name="since" label={sinceLabel} value={since} list="times" hint={TIME_HINT} />
      <TextField name="until" label="Before" value={until} list="times" hint={TIME_HINT} />
      <TextField name="zone" label="Zone" value={zone ?? 'UTC'} list="zones" hint={ZONE_HINT} />
      <datalist id="times">
        {['today', 'yesterday', '24h', '7d', '30d'].map((value) => (
          <option value={value} />
        ))}
      </datalist>
      <datalist id="zones">
        <option value="UTC" />
      </datalist>
    </>
  )
}

const TIME_HINT = '2026-01-31, 2026-01-31 12:00, today, or how long ago: 24h, 7d'
const ZONE_HINT = 'UTC, Europe/Berlin, +02:00'

const PERIODS = [
  ['Any time', undefined],
  ['Today', 'today'],
  ['7 days', '7d'],
  ['30 days', '30d'],
] as const

export interface PeriodChipsProps {
  readonly path: string
  /** The other filters, which are kept. */
  readonly query: Readonly<Record<string, string | undefined>>
}

export function PeriodChips({ path, query }: PeriodChipsProps) {
  const { since, until } = query
  const chips = PERIODS.map(([label, value]) => {
    const href = withQuery(path, { ...query, since: value, until: undefined })
    return { label, href, current: since === value && until === undefined }
  })
  return <Chips label="Period" chips={chips} />
}
