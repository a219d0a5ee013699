/** @module Filters as links, with the current one marked. */

export interface Chip {
  readonly label: string
  readonly href: string
  readonly current: boolean
}

export function Chips({ label, chips }: { readonly label: string; readonly chips: readonly Chip[] }) {
  return (
    <ul class="chips" aria-label={label}>
      {chips.map(({ label, href, current }) => (
        <li>
          <a class="chip" href={href} {...(current && { 'aria-current': 'true' })}>
            {label}
          </a>
        </li>
      ))}
    </ul>
  )
}
