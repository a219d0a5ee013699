/** @module A period: fields for its ends and its zone, and the usual ones by a click. All of it works without a script. */
import { withQuery } from '../paths.ts'

export interface PeriodFieldsProps {
  readonly since: string | undefined
  readonly until: string | undefined
  readonly zone: string | undefined
  readonly sinceLabel?: string
}

/** `assets/zones.ts` adds the reader's own zone. */
export function PeriodFields({ since, until, zone, sinceLabel = 'Since' }: PeriodFieldsProps) {
  return (
    <>
      <Field name="since" label={sinceLabel} value={since} list="times" />
      <Field name="until" label="Before" value={until} list="times" />
      <Field name="zone" label="Zone" value={zone ?? 'UTC'} list="zones" />
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

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  readonly list: string
}

function Field({ name, label, value, list }: FieldProps) {
  return (
    <div>
      <label for={`f-${name}`}>{label}</label>
      <input
        id={`f-${name}`}
        type="text"
        name={name}
        value={value ?? ''}
        list={list}
        maxlength={64}
        autocomplete="off"
        spellcheck={false}
        title={
          list === 'times'
            ? '2026-01-31, 2026-01-31 12:00, today, or how long ago: 24h, 7d'
            : 'UTC, Europe/Berlin, +02:00'
        }
      />
    </div>
  )
}

const PERIODS = [
  ['Any time', undefined],
  ['Today', 'today'],
  ['7 days', '7d'],
  ['30 days', '30d'],
] as const

export interface PeriodChipsProps {
  readonly path: string
  /** The other filters, which stay as they are. */
  readonly query: Readonly<Record<string, string | undefined>>
}

export function PeriodChips({ path, query }: PeriodChipsProps) {
  const { since, until } = query
  return (
    <ul class="chips" aria-label="Period">
      {PERIODS.map(([label, value]) => (
        <li>
          <a
            class="chip"
            href={withQuery(path, { ...query, since: value, until: undefined })}
            {...(since === value && until === undefined ? { 'aria-current': 'true' } : {})}
          >
            {label}
          </a>
        </li>
      ))}
    </ul>
  )
}
