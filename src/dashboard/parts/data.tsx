/** @module Text and JSON out of a record: data to look at, escaped by the renderer, with hidden characters named. */
import { visibleParts } from '../visible.ts'

/** Isolated, so that its direction ends where it ends. */
export function Data({ text }: { readonly text: string }) {
  return (
    <bdi>
      {visibleParts(text).map((part) =>
        part.kind === 'text' ? (
          part.text
        ) : (
          <span class="hidden-char" title={part.title}>
            {part.text}
          </span>
        ),
      )}
    </bdi>
  )
}

export function Time({ time }: { readonly time: string }) {
  return (
    <time datetime={time} title={`${time} (UTC)`}>
      {time.slice(0, 10)} <span class="clock">{time.slice(11, 19)}</span>
    </time>
  )
}

/** Who acted, for whom, through whom. */
export function Actor({ actor, principal, via }: { actor: string; principal?: string; via?: readonly string[] }) {
  return (
    <span class="actor">
      <Data text={actor} />
      {principal !== undefined && (
        <>
          <span class="muted"> for </span>
          <Data text={principal} />
        </>
      )}
      {via !== undefined && via.length > 0 && (
        <>
          <span class="muted"> via </span>
          <Data text={via.join(' \u2190 ')} />
        </>
      )}
    </span>
  )
}

export function Badge({ kind, text }: { readonly kind: string; readonly text: string }) {
  return (
    <span class={`badge badge-${kind}`}>
      <Data text={text} />
    </span>
  )
}
