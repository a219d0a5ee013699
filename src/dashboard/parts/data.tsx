/** @module Text and JSON from records, for display: escaped by the renderer, with hidden characters made visible. */
import { visibleParts, visibleText } from '../visible.ts'

/** A name that is longer than a column: it is clipped there, and the title contains all of it. */
const LONG_NAME = /^\S{32,256}$/
/** A text with a word that is so long that it has to be broken. */
const LONG_WORD = /\S{32}/

/** Isolated, so that the text's direction does not affect its surroundings. */
export function Data({ text }: { readonly text: string }) {
  return (
    <bdi {...fit(text)}>
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

function fit(text: string): { readonly class?: string; readonly title?: string } {
  if (LONG_NAME.test(text)) return { class: 'long', title: visibleText(text) }
  return LONG_WORD.test(text) ? { class: 'wraps' } : {}
}

export function Time({ time }: { readonly time: string }) {
  return (
    <time datetime={time} title={`${time} (UTC)`}>
      {time.slice(0, 10)} <span class="clock">{time.slice(11, 19)}</span>
    </time>
  )
}

/** The actor, its principal, and the intermediaries. */
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
