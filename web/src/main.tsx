import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import './page.css'

createRoot(document.getElementById('page') as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
