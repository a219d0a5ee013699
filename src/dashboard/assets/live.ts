/**
 * Keeps a page up to date: when the server reports a change, the page is fetched again, and its live part replaces the old one. Scroll position and focus are
 * kept; without this script a reload does the same.
 */
export {}

/** Changes within this time are shown together; however many follow, the page is never behind by much more than this. */
const TOGETHER_MS = 500

const part = document.getElementById('live')
if (part?.dataset.live !== undefined) follow(part.dataset.live)

function follow(address: string): void {
  const source = new EventSource(address)
  let isDue = false
  let isAtWork = false
  const keepUp = async (): Promise<void> => {
    isDue = true
    if (isAtWork) return
    isAtWork = true
    while (isDue) {
      await new Promise((resolve) => setTimeout(resolve, TOGETHER_MS))
      isDue = false
      // After a failure, the next change tries again.
      await refresh().catch(() => undefined)
    }
    isAtWork = false
  }
  source.addEventListener('changed', () => void keepUp())
  source.addEventListener('resync', () => {
    source.close()
    void keepUp()
  })
  window.addEventListener('pagehide', () => source.close())
}

async function refresh(): Promise<void> {
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'error' })
  if (!response.ok) return
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('live')
  const old = document.getElementById('live')
  if (fresh === null || old === null) return
  const scroll = old.querySelector('.picture-scroll')
  const left = scroll?.scrollLeft ?? 0
  const atEnd = scroll !== null && scroll.scrollLeft + scroll.clientWidth >= scroll.scrollWidth - 4
  const focused = document.activeElement?.getAttribute('href')
  old.replaceChildren(...[...fresh.childNodes].map((node) => document.adoptNode(node)))
  const picture = old.querySelector('.picture-scroll')
  if (picture !== null) picture.scrollLeft = atEnd && left > 0 ? picture.scrollWidth : left
  document.dispatchEvent(new CustomEvent('countersign:refreshed'))
  if (focused !== null && focused !== undefined) {
    old.querySelector<HTMLElement>(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true })
  }
  say('The page was brought up to date.')
}

function say(text: string): void {
  const line = document.getElementById('live-status')
  if (line !== null) line.textContent = text
}
