/** Opens an event below its row in a list: fetches the event's page and inserts its content. Without this script the same link opens that page. */
export {}

/** Addresses of the open events; they are opened again after a live page is refreshed. */
const opened = new Set<string>()

document.addEventListener('click', (event) => {
  const { button, ctrlKey, metaKey, shiftKey, altKey, target } = event
  const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a.event-open') : null
  if (link === null || button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return
  event.preventDefault()
  if (opened.has(link.href)) close(link)
  else void open(link)
})
document.addEventListener('countersign:refreshed', announce)
announce()

function announce(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a.event-open')) {
    link.setAttribute('aria-expanded', String(opened.has(link.href)))
    if (opened.has(link.href)) void open(link)
  }
}

function close(link: HTMLAnchorElement): void {
  opened.delete(link.href)
  link.setAttribute('aria-expanded', 'false')
  const below = link.closest('tr')?.nextElementSibling
  if (below?.classList.contains('event-detail')) below.remove()
}

async function open(link: HTMLAnchorElement): Promise<void> {
  const row = link.closest('tr')
  if (row === null || row.nextElementSibling?.classList.contains('event-detail')) return
  opened.add(link.href)
  link.setAttribute('aria-expanded', 'true')
  const cell = document.createElement('td')
  cell.colSpan = row.cells.length
  cell.textContent = 'Loading\u2026'
  const below = document.createElement('tr')
  below.className = 'event-detail'
  below.append(cell)
  row.after(below)
  try {
    const response = await fetch(link.href, { headers: { accept: 'text/html' }, redirect: 'error' })
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    cell.replaceChildren(...shown(page, link.href))
  } catch {
    cell.replaceChildren('The event cannot be fetched now. ', pageLink(link.href, 'Its page'))
  }
}

/** The parts of the event's page, without the proof, which is checked only on that page. A refusal is shown as it is. */
function shown(page: Document, href: string): readonly Node[] {
  const main = page.querySelector('main')
  const parts = main?.querySelector('.columns') ?? main?.querySelector('.problem')
  if (parts === null || parts === undefined) throw new Error('no page of an event')
  parts.querySelector('.proof')?.remove()
  for (const each of [parts, ...parts.querySelectorAll('[id]')]) each.removeAttribute('id')
  return [pageLink(href, 'Its page, with the proof'), document.adoptNode(parts)]
}

function pageLink(href: string, text: string): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = href
  link.textContent = text
  return link
}
