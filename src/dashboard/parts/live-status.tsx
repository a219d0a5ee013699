/** @module Says to who does not see it that the page was brought up to date. */

export function LiveStatus() {
  return <p id="live-status" class="visually-hidden" role="status" aria-live="polite"></p>
}
