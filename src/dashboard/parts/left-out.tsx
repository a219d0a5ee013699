/** @module Values that a policy left out of an event: their number per rule (RUN-94). */
import { Redacted } from '../../../schemas/redaction.ts'
import { Data } from './data.tsx'

export function LeftOut({ redacted }: { readonly redacted: unknown }) {
  const known = Redacted.safeParse(redacted).data
  if (known === undefined) return null
  return (
    <ul class="chips" aria-label="Left out of the record">
      {Object.entries(known.counts).map(([rule, count]) => (
        <li>
          <span class="chip" title={placesOf(known, rule)}>
            {count === 1 ? '1 value' : `${count} values`} left out by rule <Data text={rule} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const SHOWN_MAX = 10

function placesOf({ values }: Redacted, rule: string): string {
  const places = values.flatMap(({ at, rule: by }) => (by === rule ? [at] : []))
  return `${places.slice(0, SHOWN_MAX).join('\n')}${places.length > SHOWN_MAX ? '\n…' : ''}`
}
