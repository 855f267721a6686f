"""Operations that pages and commands share and that finish without a background job."""
